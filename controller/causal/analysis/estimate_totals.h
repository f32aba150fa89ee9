// What the runs together know of their units: samples, and the times these stand for. Pure.
//
// Runs can differ in how much of the time a unit takes (another host, another load), and in some a
// unit cannot be chosen at all (--fixed of another one). So nothing is made of sums over all runs
// which is not true of each: every run's samples are related to that run's own baselines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/causal/analysis/estimate_effect.h"
#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// Of the baselines of some runs.
struct Presence {
  // The unit's samples, each worth its run's period and the wait for a core that other programs
  // add to it, because a thread that needs less CPU time waits less, too. 0: not known
  double busy_ns = 0;
  Nanoseconds time_ns = 0;    // of the baselines
  std::uint64_t samples = 0;  // in the unit, meanwhile

  Presence& operator+=(const Presence& other);
};

struct UnitTotals {
  Unit unit;
  std::uint64_t samples = 0;         // over whole runs, where known
  std::uint64_t inherited = 0;       // of them, as the caller of code out of scope
  std::uint64_t samples_in_all = 0;  // during any experiment of the unit, in cut-off runs, too
  std::uint64_t runs = 0;            // that tried it: have a treatment of it that counts
  report::Tested tested;
  Presence where_tried;
  Presence anywhere;
  // Of the unit's own baselines: the samples in it, and how many these would be if it were active
  // all the time, by its share in all baselines of the same run.
  std::uint64_t observed = 0;
  double expected = 0;
  double expected_variance = 0;
};

struct Totals {
  std::map<std::string, UnitTotals> units;
  std::uint64_t samples_total = 0;
};

Totals add_up(const std::vector<const Run*>& runs);

// One experiment more. A baseline adds nothing.
void add(const Experiment& experiment, report::Tested& tested);

std::uint64_t samples_of(const Run& run);  // in units or not

// Of the samples. Where the kernel stops sampling that often, what a sample stands for is no more
// the same for all threads: one that comes to a core often is sampled more often.
inline constexpr double kManyThrottles = 0.05;

// The share of the time in which the unit is active at all (Coz eq. 8); 1 where nothing shows that
// it is not always.
Factor phase_factor(const UnitTotals& unit);

// What the unit can give, per speedup (docs/estimator.md, "What a unit can give"). Samples are
// counts: it is taken three standard errors above what was counted.
double ceiling_of(const UnitTotals& unit);

}  // namespace causalctl::causal

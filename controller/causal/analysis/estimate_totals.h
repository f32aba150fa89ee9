// Sums up what the runs know of their units: samples, and the times that these stand for. Pure.
//
// Runs can differ in how much of the time a unit takes (another host, another load), and in some a
// unit cannot be chosen at all (--fixed with another one). So each run's samples are related to
// that run's own baselines before anything is summed over runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/causal/analysis/estimate_effect.h"
#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// How present a unit is in the baselines of some runs.
struct Presence {
  // The time of the unit's samples, 0 if not known. Each sample is worth its run's period and the
  // wait for a core that other programs add to it, because a thread that needs less CPU time also
  // waits less.
  double busy_ns = 0;
  Nanoseconds time_ns = 0;    // length of the baselines
  std::uint64_t samples = 0;  // samples in the unit in the baselines

  Presence& operator+=(const Presence& other);
};

struct UnitTotals {
  Unit unit;
  std::uint64_t samples = 0;      // over whole runs whose samples are known
  std::uint64_t inherited = 0;    // those that it got as the caller of code out of scope
  std::uint64_t by_one_call = 0;  // those of `inherited` in which the calls below it were the same
  std::uint64_t in_own_code = 0;  // of `samples`, as in UnitSamples
  std::uint64_t in_callee = 0;    // of a call path, as in UnitSamples
  std::uint64_t unknown_callers = 0;  // the same
  std::uint64_t samples_in_all = 0;   // in all experiments of the unit, those of cut-off runs too
  std::uint64_t runs = 0;             // runs with a treatment of the unit that counts
  report::Tested tested;
  Presence where_tried;
  Presence anywhere;
  // In the unit's own baselines: the samples in it, and how many of them its share in all baselines
  // of the same run makes expect.
  std::uint64_t observed = 0;
  double expected = 0;
  double expected_variance = 0;
};

struct Totals {
  std::map<std::string, UnitTotals> units;
  std::uint64_t samples_total = 0;
};

Totals add_up(const std::vector<const Run*>& runs);

// Adds an experiment. A baseline adds nothing.
void add(const Experiment& experiment, report::Tested& tested);

std::uint64_t samples_of(const Run& run);  // samples in units and elsewhere

// A share of the samples. If the kernel throttles sampling after more of them, a sample does not
// stand for the same time in all threads: a thread that is often put on a core is sampled more
// often.
inline constexpr double kManyThrottles = 0.05;

// Returns the share of the time in which the unit is active at all (Coz eq. 8); 1 unless something
// shows that it is less.
Factor phase_factor(const UnitTotals& unit);

// Returns what the unit can give per speedup (docs/estimator.md, "What a unit can give"). Samples
// are counts, so three standard errors are added to what was counted.
double ceiling_of(const UnitTotals& unit);

}  // namespace causalctl::causal

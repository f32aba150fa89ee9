// The sampling period, chosen by its measured cost: sampling is switched off and on in turn, and
// the progress rate compared. On a virtual machine with all cores busy a sample costs ten times
// what it costs on hardware, and the baseline, where all threads run, suffers more of it than the
// treatment, where most stand still; so a dear period falsifies effects, not only slows the target.
#pragma once

#include <optional>

#include "controller/base/types.h"
#include "controller/causal/experiments/phases.h"

namespace causalctl::causal {

struct SamplingCost {
  Nanoseconds period_ns = 0;
  std::optional<double> cost;  // fraction by which progress is slower with sampling on; nullopt:
                               // too few visits to tell
  double low = 0, high = 0;    // its 95 % interval (Student's t over the pairs); where there is one
};

// What sampling may cost the target (docs/benchmarks.md, "Overhead").
inline constexpr double kAffordable = 0.0125;
// Where threads pass cores on to each other it is the noise of sampling that makes effects look too
// small (docs/calibration.md, "The pool"), so that a short period is worth more.
inline constexpr double kAffordableShortOfCores = 0.03;

// Pure: the period that costs `affordable`, if a period of `measured_ns` costs `cost`.
Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable);

inline constexpr Nanoseconds kFinestPeriod = kMillisecond;  // that is chosen

// Runs the comparison, for at most `budget_ns` in all. Leaves sampling on at the chosen period,
// which is `shortest_ns` at least.
SamplingCost choose_period(const Calibration& with, double affordable, Nanoseconds shortest_ns,
                           Nanoseconds budget_ns);

}  // namespace causalctl::causal

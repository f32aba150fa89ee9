// Chooses the sampling period by its measured cost: sampling is switched off and on in turn, and
// the progress rates are compared. On a virtual machine with all cores busy a sample costs ten
// times what it costs on hardware. The baseline, in which all threads run, suffers more from it
// than the treatment, in which most stand still. So a costly period not only slows the target but
// also falsifies effects.
#pragma once

#include <optional>

#include "controller/base/types.h"
#include "controller/causal/experiments/phases.h"

namespace causalctl::causal {

struct SamplingCost {
  Nanoseconds period_ns = 0;
  // The fraction by which progress is slower with sampling on; nullopt if visits are too few to
  // tell.
  std::optional<double> cost;
  double low = 0, high = 0;  // 95 % interval of `cost` (Student's t over the pairs), if it is known
};

// Sampling may cost the target this share of its speed (docs/benchmarks.md, "Overhead").
inline constexpr double kAffordable = 0.0125;
// If threads pass cores on to each other, the noise of sampling makes effects look too small
// (docs/calibration.md, "The pool"), so that a short period is worth more.
inline constexpr double kAffordableShortOfCores = 0.03;

// Returns the period that costs `affordable`, if a period of `measured_ns` costs `cost`. Pure.
Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable);

inline constexpr Nanoseconds kFinestPeriod = kMillisecond;  // the shortest period that is chosen

// Compares for at most `budget_ns` in all. Leaves sampling on at the chosen period, which is at
// least `shortest_ns`.
SamplingCost choose_period(const Calibration& with, double affordable, Nanoseconds shortest_ns,
                           Nanoseconds budget_ns);

}  // namespace causalctl::causal

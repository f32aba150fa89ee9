// Chooses the sampling period by its cost, which is measured in two ways.
//
// What a sample takes of its thread is measured on a thread of ours (perf/sample_time.h). On a
// virtual machine it is ten times what it is on hardware. And sampling is switched off and on in
// turn, and the rates of progress are compared: that also shows what samples displace from the
// caches and what their events cost at each switch, but in most programs the rate varies by more
// than the cost. So the first counts, unless the second certainly shows more.
//
// The baseline, in which all threads run, suffers more from sampling than the treatment, in which
// most stand still. So a costly period not only slows the target but also falsifies effects.
#pragma once

#include <optional>

#include "controller/base/interval.h"
#include "controller/base/types.h"
#include "controller/causal/experiments/phases.h"

namespace causalctl::causal {

struct SamplingCost {
  Nanoseconds period_ns = 0;
  // The fraction by which the target is slower with sampling on, and its 95 % interval; nullopt if
  // samples cannot be timed and visits are too few to tell.
  std::optional<Interval> slower;
  double by_samples = 0;  // of it, the lower end of what samples take
};

// Sampling may cost the target this share of its speed (docs/benchmarks.md, "Overhead").
inline constexpr double kAffordable = 0.0125;
// If threads pass cores on to each other, the noise of sampling makes effects look too small
// (docs/calibration.md, "The pool"), so that a short period is worth more.
inline constexpr double kAffordableShortOfCores = 0.03;

// Returns the period that costs `affordable`, if a period of `measured_ns` costs `cost`. Pure.
Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable);

// Returns what samples that take `sample_ns` each take of the CPU time. Pure.
std::optional<Interval> cost_of_samples(const std::optional<Interval>& sample_ns,
                                        Nanoseconds period_ns);
// Returns which of the two counts. Pure.
std::optional<Interval> known_cost(const std::optional<Interval>& of_samples,
                                   const std::optional<Interval>& by_rates);

inline constexpr Nanoseconds kFinestPeriod = kMillisecond;  // the shortest period that is chosen

// Compares rates for at most `budget_ns` in all. Leaves sampling on at the chosen period, which is
// at least `shortest_ns`. `sample_ns`: what a sample takes, if that is known.
SamplingCost choose_period(const Calibration& with, const std::optional<Interval>& sample_ns,
                           double affordable, Nanoseconds shortest_ns, Nanoseconds budget_ns);

}  // namespace causalctl::causal

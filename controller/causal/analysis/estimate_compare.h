// What a virtual speedup did to a progress point: experiments against the baselines around them.
// Pure.
//
// Every treatment (speedup > 0) is compared with the nearest baselines before and after it in the
// same run, because on a shared machine the drift between minutes is larger than the effects
// (docs/estimator.md). The comparison is a ratio of progress periods in
// logarithms, so that twice as slow and twice as fast weigh the same and no average of ratios is
// biased. A baseline during which the machine stalled would spoil both its neighbours: those far
// from the baselines around them are passed over.
//
// Where nothing was ever paused, as in a program of one thread, a treatment runs exactly as a
// baseline does: only its virtual time differs. Then the real time of its own visits stands for
// their time without the speedup. What the machine, and the work, make of one experiment or of
// another is in both, and cancels. What is left is how many samples the unit happened to get.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/causal/analysis/pacing.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// A stall: a log ratio farther than this from those beside it.
inline constexpr double kFar = 4;            // standard deviations
inline constexpr double kLeastStall = 0.01;  // … but at least, on a machine without noise

struct Point {
  std::string name;
  bool latency = false;
};

struct Effect {
  const Experiment* experiment = nullptr;
  std::array<const Experiment*, 2> baselines = {};  // before, after; one may be null
  double log_ratio = 0;                             // log(period / mean period of the baselines),
                                                    // with share_effect.h
  Unfelt unfelt = {};                               // of the point, in that run
  std::size_t run = 0;                              // which of the runs that were compared
  // The standard deviation of its noise, as a multiple: of that run (estimate_run_noise.h), or by
  // the number of samples that it hangs on.
  double noise_scale = 1;
};

struct PointEffects {
  std::vector<Effect> treatments;  // in time order within each run
  std::vector<Effect> nulls;       // baselines against their neighbouring baselines
  bool within = false;             // periods are relative to real ones of the same experiment
};

// Time per visit, in virtual seconds (latency: time from begin to end); nullopt: no data. What of
// the time that the program stood still is `unfelt` by a throughput point counts for it.
std::optional<double> period_s(const Experiment& experiment, const Point& point, double unfelt = 0);

bool was_counted(const Experiment& experiment, const Point& point);
std::uint64_t visits_of(const Experiment& experiment, const Point& point);  // latency: ends

PointEffects compare(const std::vector<Run>& runs, const Point& point);

// The standard error of the weighted sum of log ratios by what is not known of the cost of pauses,
// by what the model leaves open, and by what is not known of the point's own pace. All experiments
// err together, those of other runs, too (the guess of the cost that it begins with, its dependence
// on a pause's length): more of them do not make it smaller.
double systematic_error(std::span<const Effect> effects, std::span<const double> weights);

// The variance of the weighted sum of log ratios over that of one log period of a run whose scale
// is 1: effects that share a baseline err together.
double variance_factor(std::span<const Effect> effects, std::span<const double> weights);

}  // namespace causalctl::causal

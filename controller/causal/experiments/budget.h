// Computes how much slower the target runs than it would without us, for --max-slowdown. Pure.
//
// The window is the last kBudgetWindow experiments, as far as they fit into kLongestWindow: short
// enough to end a run in time, long enough to average over speedups. There are two measures:
//
// - by pauses: the share of the time for which the target was paused (Coz §3.2, inserted delay). It
//   needs no progress.
// - by progress: how much fewer visits a second the treatments have than the baselines among them.
// It
//   shows pauses that cost more than they last. The lower end of its 95 % interval counts, so that
//   noise ends no run.
//
// The larger one counts, and the measured cost of sampling is added.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// The largest window, in experiments and in time.
inline constexpr std::size_t kBudgetWindow = 10;
inline constexpr Nanoseconds kLongestWindow = 10 * kSecond;

struct Slowdown {
  double share = 0;             // the lost share of the target's speed
  std::size_t experiments = 0;  // number of experiments in the window
  Nanoseconds wall_ns = 0;
  bool by_progress = false;  // whether the measure is by progress or by pauses
};

// Returns the slowdown over the latest of `experiments`; its own `experiments` is 0 if there are
// too few to tell. `sampling_cost` is that of Overhead::slowdown, 0 if not known.
Slowdown slowdown_of(std::span<const Experiment> experiments, double sampling_cost);

// Returns the warning that a run ended because of its slowdown.
std::string over_budget(const Slowdown& slowdown, double max_slowdown_percent);

}  // namespace causalctl::causal

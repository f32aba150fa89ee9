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

#include <algorithm>
#include <cstddef>
#include <optional>
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

// What the target loses of its speed while nothing is paused, as shares.
struct WatchingCost {
  std::optional<double> sampling;  // nullopt: not measured yet, or not known
  double sampling_low = 0;         // the lower end of its 95 % interval
  double counting = 0;             // what breakpoints and uprobes take

  // Nothing becomes faster by being sampled: a cost below 0 is noise.
  double share() const { return std::max(sampling.value_or(0), 0.0) + counting; }
  // Noise is no reason to end a run.
  double low() const { return std::max(sampling_low, 0.0) + counting; }
};
std::string told_loss(const WatchingCost& cost);  // a warning
std::string over_budget(const WatchingCost& cost, double max_slowdown_percent);

// Returns the warning that a run ended because of its slowdown.
std::string over_budget(const Slowdown& slowdown, double max_slowdown_percent);

}  // namespace causalctl::causal

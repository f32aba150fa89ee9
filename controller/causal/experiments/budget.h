// How much slower the target runs than it would without us, for --max-slowdown. Pure.
//
// Looked at are the last kBudgetWindow experiments, as far as they fit into kLongestWindow: short
// enough to end a run in time, long enough to average over speedups. Two measures:
//
// - by pauses: the share of the time for which the target was paused (Coz §3.2, inserted delay);
//   needs no progress;
// - by progress: how much fewer visits a second the sped-up experiments have than the baselines
//   among them: pauses that cost more than they last show here. It counts with the lower end of its
//   95 % interval, so that noise ends no run.
//
// The larger one counts, and the measured cost of sampling is added.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

inline constexpr std::size_t kBudgetWindow = 10;             // experiments
inline constexpr Nanoseconds kLongestWindow = 10 * kSecond;  // nor more than this

struct Slowdown {
  double share = 0;             // of the target's speed that is lost; 0.05: 5 %
  std::size_t experiments = 0;  // that it was measured over
  Nanoseconds wall_ns = 0;
  bool by_progress = false;  // which of the two it is
};

// Of the end of `experiments`; `sampling_cost`: as Overhead::slowdown has it, 0 where unknown.
// `experiments` is 0 where there are too few to tell.
Slowdown slowdown_of(std::span<const Experiment> experiments, double sampling_cost);

// The warning that a run ended for it.
std::string over_budget(const Slowdown& slowdown, double max_slowdown_percent);

}  // namespace causalctl::causal

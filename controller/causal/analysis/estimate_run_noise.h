// Weighs runs that differ in noise, as on a quiet and on a busy host, or with few visits and with
// many. Pure.
//
// With equal weights the noisy runs would count as much as the others, and one common variance
// would be too small for them. So each run has a scale: its noise divided by that of all runs, both
// from their baselines, which have no effect. Its log ratios have the weight 1/scale², and are
// judged by it. If the runs do not certainly differ all scales are 1, because weights that are
// guessed from a few baselines would only add noise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace causalctl::causal {

struct Noise {
  double variance = 0;  // variance of one log period
  std::size_t freedom = 0;
};

// Returns, for each run in order, the standard deviation of its log periods divided by that of a
// usual run; 1 if too little is known. `noises` are those of the runs' baselines.
std::vector<double> noise_scales(std::span<const Noise> noises);

}  // namespace causalctl::causal

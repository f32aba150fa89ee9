// Runs of different noise: on a quiet host and on a busy one, or of few visits and of many. Pure.
//
// Without regard to it the noisy ones would have the same say as the others, and one variance for
// all would be too small for them. So each run has a scale, its noise over that of all, by which
// its log ratios are weighted (by 1/scale²) and judged. It is known from its baselines, which have
// no effect. Where the runs do not certainly differ all scales are 1: weights that are themselves
// guessed from a few baselines would only add noise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace causalctl::causal {

struct Noise {
  double variance = 0;  // of one log period
  std::size_t freedom = 0;
};

// Of each run, in order: the standard deviation of its log periods over that of a usual run.
// `noises`: of their baselines. A run of which too little is known has 1.
std::vector<double> noise_scales(std::span<const Noise> noises);

}  // namespace causalctl::causal

// The effect of B against A from the log ratios of blocks, with its interval. Pure.
//
// A value is log(B / A) of one block: the mean of the logarithms of its two B runs less that of its
// two A runs. Blocks are independent, and their values symmetric about the effect as long as both
// sides are equally noisy. Some are far off, because a virtual machine stalls: the centre is the
// mean of what is left when the largest and the smallest fifth are cut off (of seven blocks or
// more), and its error follows
// from the winsorised variance (Tukey & McLaughlin, Sankhya A 25 (1963)).
//
// Interval: bootstrap-t, blocks resampled (Efron, The Jackknife, the Bootstrap and Other Resampling
// Plans (1982), §10.10; with trimmed means: Wilcox, Introduction to Robust Estimation (2012),
// §4.4.6). Symmetric: quantiles of |t|. With ten blocks a percentile bootstrap would cover the
// truth in about nine of ten cases, this one in 93 to 99 of 100
// (tests/unit/compare/effect_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "controller/report/compare/model.h"

namespace causalctl::compare {

inline constexpr std::size_t kFewestBlocks = 4;  // for an interval

// In logarithms; error: standard, of the centre.
struct Centre {
  double value = 0;
  double error = 0;
  std::size_t freedom = 0;  // blocks left - 1
};

Centre centre_of(std::span<const double> log_ratios);  // REQUIRES: not empty

// In logarithms; `seed` makes the resampling repeatable. nullopt: fewer than kFewestBlocks.
std::optional<Interval> bootstrap(std::span<const double> log_ratios, double alpha,
                                  std::uint64_t seed);

// The smallest effect (a fraction, positive) that 80 of 100 comparisons with this error, and with
// intervals (in logarithms) as wide as this, find, whichever side is faster. REQUIRES: log_ratios
// not empty.
double detectable(std::span<const double> log_ratios, const Interval& log_interval);

// Logarithms → effect: the ends change places.
Interval to_effect(const Interval& log_ratio);

}  // namespace causalctl::compare

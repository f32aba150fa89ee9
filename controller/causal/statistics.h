// Small-sample statistics for noisy measurements: trimmed mean and bootstrap intervals. Pure and
// deterministic: the resampling is seeded.
//
// Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993); Hesterberg, "What Teachers
// Should Know About the Bootstrap", The American Statistician 69 (2015), §5.3: percentile intervals
// are too narrow for small n, so their level is widened by Student's t and sqrt(n/(n-1)); Kish,
// Survey Sampling (1965), §8.2: the design effect, for observations that are not independent.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

namespace causalctl::causal {

inline constexpr std::size_t kFewestForInterval = 3;

struct Range {
  double low = 0;
  double high = 0;
};

double mean(std::span<const double> values);           // REQUIRES: not empty
double trimmed_mean(std::span<const double> values);   // without 20 % at each end
double median(std::span<const double> values);         // REQUIRES: not empty
double student_t_975(std::size_t degrees_of_freedom);  // 97.5 % quantile; REQUIRES: at least 1
double normal_cdf(double z);

// `statistic` maps a multiset of indices into the n observations to a number.
using Statistic = std::function<double(std::span<const std::size_t> indices)>;

// 95 % interval; nullopt for fewer than kFewestForInterval observations. `design_effect` is the
// variance of the statistic over what it would be if the observations were independent.
std::optional<Range> bootstrap(std::size_t n, double design_effect, const Statistic& statistic);

// The same for the trimmed mean of `values`.
std::optional<Range> trimmed_mean_interval(std::span<const double> values, double design_effect);

}  // namespace causalctl::causal

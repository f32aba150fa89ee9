// Each side has an interval of its own: Wilson's for shares of samples, and the score interval of a
// Poisson variable for rates of samples, both with the number of samples divided by the design
// effect (Korn & Graubard, "Confidence intervals for proportions with small expected number of
// positive counts estimated from survey data", Survey Methodology 24 (1998)). The interval of the
// difference is made of the two by the method of variance estimates recovery (Newcombe, "Interval
// estimation for the difference between independent proportions", Statistics in Medicine 17 (1998),
// method 10; Zou & Donner, Statistics in Medicine 27 (2008)).
//
// The design effect is the variance of the two ratios as the parts show it (linearised ratio
// estimator: Cochran, Sampling Techniques, 3rd ed. (1977), §6.3 and §9A), divided by that of
// independent samples, and at least 1. Both sides have the same one, because a side on which the
// function does not occur cannot tell how it clusters.
#include "controller/report/callpath/change.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "controller/base/error.h"
#include "controller/base/statistics.h"

namespace causalctl::report::callpath {
namespace {

constexpr double kTailOf95 = 0.025;
constexpr double kFarthest = 1e3;                 // critical values are searched below it
constexpr std::size_t kAlmostNormal = 1'000'000;  // degrees of freedom

// What is known of one side.
struct SideRatio {
  double value = 0;
  double unit = 0;     // what one sample adds to the value; 0 if not known
  double samples = 0;  // of a share: of all of it; of a rate: of the value
  double part_variance = 0;
  double sample_variance = 0;  // of the value, if samples are independent
  std::size_t parts = 0;
};

SideRatio side_of(const Measured& measured, Ratio ratio) {
  INVARIANT(!measured.bases.empty() && measured.bases.size() == measured.values.size());
  const double base = std::accumulate(measured.bases.begin(), measured.bases.end(), 0.0);
  const double sum = std::accumulate(measured.values.begin(), measured.values.end(), 0.0);
  SideRatio side;
  side.value = sum / base;
  side.parts = measured.bases.size();
  if (side.parts >= kFewestParts) {
    double squares = 0;
    for (std::size_t i = 0; i < side.parts; ++i) {
      const double residual = measured.values[i] - side.value * measured.bases[i];
      squares += residual * residual;
    }
    const auto count = static_cast<double>(side.parts);
    side.part_variance = count / (count - 1) * squares / (base * base);
  }
  if (measured.samples_per_value <= 0) return side;
  side.unit = 1 / measured.samples_per_value / base;
  if (ratio == Ratio::share) {
    side.samples = base * measured.samples_per_value;
    side.sample_variance = side.value * (1 - side.value) / side.samples;
  } else {
    side.samples = sum * measured.samples_per_value;
    side.sample_variance = side.value * side.unit;
  }
  return side;
}

// Returns the interval of one side, for a critical value of `c` standard errors.
Interval limits(const SideRatio& side, Ratio ratio, double effect, double c) {
  if (side.unit == 0) {
    const double half = c * std::sqrt(side.part_variance);
    return {side.value, side.value - half, side.value + half};
  }
  const double n = side.samples / effect;
  const double square = c * c;
  if (ratio == Ratio::share) {
    const double center = (side.value + square / (2 * n)) / (1 + square / n);
    const double half =
        c / (1 + square / n) * std::sqrt(side.value * (1 - side.value) / n + square / (4 * n * n));
    return {side.value, std::min(side.value, center - half), std::max(side.value, center + half)};
  }
  const double center = n + square / 2;
  const double half = c * std::sqrt(n + square / 4);
  const double unit = side.unit * effect;
  return {side.value, std::min(side.value, unit * (center - half)),
          std::max(side.value, unit * (center + half))};
}

// Satterthwaite's, for the sum of both variances.
std::size_t degrees_of_freedom(const SideRatio& before, const SideRatio& after) {
  const auto freedom = [](const SideRatio& side) { return static_cast<double>(side.parts - 1); };
  const double sum = before.part_variance + after.part_variance;
  if (sum == 0) return before.parts + after.parts - 2;
  const double squares = before.part_variance * before.part_variance / freedom(before) +
                         after.part_variance * after.part_variance / freedom(after);
  return static_cast<std::size_t>(std::max(1.0, sum * sum / squares));
}

}  // namespace

Change change_of(const Measured& before, const Measured& after, Ratio ratio) {
  const SideRatio a = side_of(before, ratio);
  const SideRatio b = side_of(after, ratio);
  Change change{a.value, b.value, {}, 1};
  const bool has_parts = std::min(a.parts, b.parts) >= kFewestParts;
  const bool has_samples = a.unit > 0 && b.unit > 0;
  if (!has_parts && !has_samples) return change;

  double effect = 1;
  const double sample_variance = a.sample_variance + b.sample_variance;
  if (has_parts && sample_variance > 0) {
    effect = std::max(1.0, (a.part_variance + b.part_variance) / sample_variance);
  }
  const auto interval = [&](double c) {
    const Interval of_a = limits(a, ratio, effect, c);
    const Interval of_b = limits(b, ratio, effect, c);
    const double difference = b.value - a.value;
    return Interval{difference, difference - std::hypot(b.value - of_b.low, of_a.high - a.value),
                    difference + std::hypot(of_b.high - b.value, a.value - of_a.low)};
  };
  const std::size_t freedom = has_parts ? degrees_of_freedom(a, b) : kAlmostNormal;
  change.difference = interval(statistics::student_t_quantile(kTailOf95, freedom));
  if (a.value == b.value) return change;

  // The interval grows with c; the p-value is that of the c at which it reaches 0.
  double low = 0;
  double high = kFarthest;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const Interval at = interval(middle);
    (at.low <= 0 && at.high >= 0 ? high : low) = middle;
  }
  change.p_value = 2 * (1 - statistics::student_t_cdf(high, freedom));
  return change;
}

}  // namespace causalctl::report::callpath

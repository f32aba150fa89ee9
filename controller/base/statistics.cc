#include "controller/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "controller/base/error.h"

namespace causalctl::statistics {
namespace {

constexpr double kTrim = 0.2;                  // cut at each end
constexpr double kNormalDeviation = 1.4826;    // standard deviation over median absolute deviation
constexpr std::size_t kAsGoodAsNormal = 2000;  // degrees of freedom

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

double mean(std::span<const double> values) {
  INVARIANT(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_error(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / (n - 1) / n);
}

double trimmed_mean(std::span<const double> values) {
  INVARIANT(!values.empty());
  std::vector<double> parted(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(kTrim * static_cast<double>(parted.size()));
  std::nth_element(parted.begin(), parted.begin() + cut, parted.end());
  std::nth_element(parted.begin() + cut, parted.end() - cut - 1, parted.end());
  return mean(std::span(parted.begin() + cut, parted.end() - cut));
}

double median(std::span<const double> values) {
  INVARIANT(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double robust_deviation(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - centre));
  // For few values the estimate is too small, by a factor of about (n - 0.8)/n: Croux & Rousseeuw,
  // "Time-Efficient Algorithms for Two Highly Robust Estimators of Scale" (1992).
  const double count = static_cast<double>(values.size());
  return kNormalDeviation * count / (count - 0.8) * median(distances);
}

// These are the finite sums for whole degrees of freedom: exact, with one term per two degrees.
double student_t_cdf(double t, std::size_t degrees_of_freedom) {
  INVARIANT(degrees_of_freedom >= 1);
  if (degrees_of_freedom > kAsGoodAsNormal) return normal_cdf(t);
  const double theta = std::atan(t / std::sqrt(static_cast<double>(degrees_of_freedom)));
  const double cosine = std::cos(theta);
  const bool odd = degrees_of_freedom % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees_of_freedom == 1 ? 0 : term;
  for (std::size_t k = odd ? 2 : 1; k + 2 < degrees_of_freedom; k += 2) {
    term *= cosine * cosine * static_cast<double>(k) / static_cast<double>(k + 1);
    sum += term;
  }
  const double within = odd ? 2 / std::numbers::pi * (theta + std::sin(theta) * sum)
                            : std::sin(theta) * sum;  // P(|T| < t), with the sign of t
  return 0.5 + within / 2;
}

double student_t_quantile(double tail, std::size_t degrees_of_freedom) {
  INVARIANT(tail > 0 && tail <= 0.5);
  double low = 0;
  double high = 1;
  while (1 - student_t_cdf(high, degrees_of_freedom) > tail && high < 1e9) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (1 - student_t_cdf(middle, degrees_of_freedom) > tail ? low : high) = middle;
  }
  return high;
}

double half_interval_of_mean(std::span<const double> values) {
  return student_t_quantile(0.025, values.size() - 1) * standard_error(values);
}

double clipped(double residual, double deviation) {
  return std::clamp(residual, -kClip * deviation, kClip * deviation);
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, p_values[order[i]] * static_cast<double>(order.size() - i));
    adjusted[order[i]] = std::min(1.0, largest);
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] > p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double smallest = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {  // from the largest
    const auto rank = static_cast<double>(order.size() - i);
    smallest = std::min(smallest, p_values[order[i]] * static_cast<double>(order.size()) / rank);
    adjusted[order[i]] = smallest;
  }
  return adjusted;
}

double chi_square_tail(double value, std::size_t degrees_of_freedom) {
  if (value <= 0) return 1;
  const double half = value / 2;
  const bool is_odd = degrees_of_freedom % 2 == 1;
  double tail = is_odd ? std::erfc(std::sqrt(half)) : std::exp(-half);
  for (std::size_t freedom = is_odd ? 1 : 2; freedom < degrees_of_freedom; freedom += 2) {
    const double power = static_cast<double>(freedom) / 2;
    tail += std::exp(power * std::log(half) - half - std::lgamma(power + 1));
  }
  return std::min(1.0, tail);
}

}  // namespace causalctl::statistics

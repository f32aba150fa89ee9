#include "controller/causal/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "controller/base/error.h"

namespace causalctl::causal {
namespace {

constexpr double kTrim = 0.2;  // at each end
constexpr std::size_t kResamples = 2000;
constexpr std::uint64_t kSeed = 0x9e3779b97f4a7c15;
// A resample lies within the smallest and largest value, which hold the centre with probability
// 1 - 2^(1-n): below six values that is less than 95 %, whatever the level.
constexpr std::size_t kFewestForPercentile = 6;

// Not std::uniform_int_distribution, whose results differ between libraries.
std::size_t below(std::mt19937_64& random, std::size_t n) {
  return static_cast<std::size_t>(((random() >> 32) * n) >> 32);
}

double quantile(std::span<const double> sorted, double level) {
  const double position = level * static_cast<double>(sorted.size() - 1);
  const auto index = static_cast<std::size_t>(position);
  if (index + 1 >= sorted.size()) return sorted.back();
  const double fraction = position - static_cast<double>(index);
  return sorted[index] + fraction * (sorted[index + 1] - sorted[index]);
}

// Jackknife: how much the statistic moves when one observation is left out. For few observations
// only, where the percentiles cannot reach far enough.
Range student_interval(std::size_t n, const Statistic& statistic) {
  std::vector<std::size_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  const double value = statistic(indices);
  std::vector<double> without;
  for (std::size_t left_out = 0; left_out < n; ++left_out) {
    std::vector<std::size_t> rest = indices;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left_out));
    without.push_back(statistic(rest));
  }
  const double centre = mean(without);
  double squares = 0;
  for (const double other : without) squares += (other - centre) * (other - centre);
  const double count = static_cast<double>(n);
  const double half = student_t_975(n - 1) * std::sqrt(squares * (count - 1) / count);
  return {value - half, value + half};
}

}  // namespace

double mean(std::span<const double> values) {
  CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double trimmed_mean(std::span<const double> values) {
  CHECK(!values.empty());
  std::vector<double> parted(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(kTrim * static_cast<double>(parted.size()));
  std::nth_element(parted.begin(), parted.begin() + cut, parted.end());
  std::nth_element(parted.begin() + cut, parted.end() - cut - 1, parted.end());
  return mean(std::span(parted.begin() + cut, parted.end() - cut));
}

double median(std::span<const double> values) {
  CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return quantile(sorted, 0.5);
}

double student_t_975(std::size_t degrees_of_freedom) {
  CHECK(degrees_of_freedom >= 1);
  static constexpr std::array<double, 9> kTable = {12.706, 4.303, 3.182, 2.776, 2.571,
                                                   2.447,  2.365, 2.306, 2.262};
  if (degrees_of_freedom <= kTable.size()) return kTable[degrees_of_freedom - 1];
  // Cornish and Fisher's expansion, right to three digits from here on.
  const double z = 1.959964;
  const double d = static_cast<double>(degrees_of_freedom);
  return z + (std::pow(z, 3) + z) / (4 * d) +
         (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * d * d) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) /
             (384 * d * d * d);
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

std::optional<Range> bootstrap(std::size_t n, double design_effect, const Statistic& statistic) {
  if (n < kFewestForInterval) return std::nullopt;

  std::mt19937_64 random(kSeed);
  std::vector<double> results(kResamples);
  std::vector<std::size_t> indices(n);
  for (double& result : results) {
    for (std::size_t& index : indices) index = below(random, n);
    result = statistic(indices);
  }
  std::sort(results.begin(), results.end());

  const double count = static_cast<double>(n);
  const double level = normal_cdf(-std::sqrt(count / (count - 1)) * student_t_975(n - 1));
  Range range{quantile(results, level), quantile(results, 1 - level)};
  if (n < kFewestForPercentile) {
    const Range student = student_interval(n, statistic);
    range = {std::min(range.low, student.low), std::max(range.high, student.high)};
  }
  std::iota(indices.begin(), indices.end(), 0);
  const double value = statistic(indices);
  const double scale = std::sqrt(design_effect);
  return Range{value + scale * (range.low - value), value + scale * (range.high - value)};
}

std::optional<Range> trimmed_mean_interval(std::span<const double> values, double design_effect) {
  std::vector<double> drawn;
  return bootstrap(values.size(), design_effect, [&](std::span<const std::size_t> indices) {
    drawn.clear();
    for (const std::size_t index : indices) drawn.push_back(values[index]);
    return trimmed_mean(drawn);
  });
}

}  // namespace causalctl::causal

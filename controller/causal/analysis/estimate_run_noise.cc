#include "controller/causal/analysis/estimate_run_noise.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace causalctl::causal {
namespace {

constexpr std::size_t kFewestToTell = 4;  // degrees of freedom
constexpr double kCertain = 4;            // standard errors of the logarithm of a variance ratio

bool is_known(const Noise& noise) { return noise.freedom >= kFewestToTell && noise.variance > 0; }

// Returns approximately the variance of the logarithm of a variance (chi-square over its freedom).
double error2_of(const Noise& noise) { return 2 / static_cast<double>(noise.freedom - 1); }

Noise together(std::span<const Noise> noises, std::size_t without) {
  Noise all;
  double squares = 0;
  for (std::size_t i = 0; i < noises.size(); ++i) {
    if (i == without || !is_known(noises[i])) continue;
    squares += noises[i].variance * static_cast<double>(noises[i].freedom);
    all.freedom += noises[i].freedom;
  }
  if (all.freedom > 0) all.variance = squares / static_cast<double>(all.freedom);
  return all;
}

// Returns the mean logarithm of the variances, so that one very noisy run does not decide what is
// usual.
double usual_log(std::span<const Noise> noises) {
  double sum = 0;
  double weight = 0;
  for (const Noise& noise : noises) {
    if (!is_known(noise)) continue;
    sum += static_cast<double>(noise.freedom) * std::log(noise.variance);
    weight += static_cast<double>(noise.freedom);
  }
  return sum / weight;
}

// Returns whether one of the runs is certainly noisier or quieter than the others.
bool differ(std::span<const Noise> noises) {
  for (std::size_t i = 0; i < noises.size(); ++i) {
    const Noise others = together(noises, i);
    if (!is_known(noises[i]) || !is_known(others)) continue;
    const double distance = std::abs(std::log(noises[i].variance / others.variance));
    if (distance > kCertain * std::sqrt(error2_of(noises[i]) + error2_of(others))) return true;
  }
  return false;
}

}  // namespace

std::vector<double> noise_scales(std::span<const Noise> noises) {
  std::vector<double> scales(noises.size(), 1);
  if (!differ(noises)) return scales;
  const double usual = usual_log(noises);
  for (std::size_t i = 0; i < noises.size(); ++i) {
    if (is_known(noises[i])) scales[i] = std::exp((std::log(noises[i].variance) - usual) / 2);
  }
  return scales;
}

}  // namespace causalctl::causal

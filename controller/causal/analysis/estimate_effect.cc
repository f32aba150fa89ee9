#include "controller/causal/analysis/estimate_effect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "controller/base/statistics.h"

namespace causalctl::causal {
namespace {

// A pool of the summary has the speedups from `low` up to but not including `high`.
struct Pool {
  double low;
  double high;
};
constexpr std::array<Pool, 3> kPools = {{{0.0, 0.375}, {0.375, 0.725}, {0.725, 1.001}}};

// Returns the estimate of a weighted sum whose value is known.
Estimate estimate_of(double value, std::span<const Clean> effects, std::span<const double> weights,
                     const Noise& noise) {
  std::vector<Effect> plain;
  for (const Clean& one : effects) plain.push_back(one.effect);
  const double systematic = systematic_error(plain, weights);
  const double error =
      std::hypot(std::sqrt(noise.variance * variance_factor(plain, weights)), systematic);
  return {value, error, noise.freedom, systematic};
}

// Effects are weighted by their inverse variance, so equally if the runs are equally noisy.
double weight_of(const Clean& one) { return 1 / (one.effect.noise_scale * one.effect.noise_scale); }

double sum_of_weights(std::span<const Clean> effects) {
  double sum = 0;
  for (const Clean& one : effects) sum += weight_of(one);
  return sum;
}

report::CurvePoint described(std::span<const Clean> effects, const Point& point) {
  report::CurvePoint pooled;
  for (const Clean& one : effects) {
    pooled.speedup += weight_of(one) * one.effect.experiment->speedup;
    pooled.visits += visits_of(*one.effect.experiment, point);
  }
  pooled.speedup /= sum_of_weights(effects);
  pooled.experiments = effects.size();
  return pooled;
}

}  // namespace

Interval interval_of(const Estimate& estimate, double alpha) {
  const double half = statistics::student_t_quantile(alpha / 2, estimate.freedom) * estimate.error;
  return {estimate.value, estimate.value - half, estimate.value + half};
}

double p_value_of(const Estimate& estimate) {
  if (estimate.error <= 0) return estimate.value == 0 ? 1 : 0;
  return 2 *
         statistics::student_t_cdf(-std::abs(estimate.value) / estimate.error, estimate.freedom);
}

Estimate scaled(const Estimate& estimate, const Factor& factor) {
  return {factor.value * estimate.value,
          factor.value * std::hypot(estimate.error, factor.relative_error * estimate.value),
          estimate.freedom, factor.value * estimate.systematic};
}

std::optional<Interval> effect_of(std::span<const Clean> effects, const Noise& noise, double alpha,
                                  const Factor& factor) {
  if (effects.empty() || noise.freedom == 0) return std::nullopt;
  const double all = sum_of_weights(effects);
  double sum = 0;
  std::vector<double> weights;
  for (const Clean& one : effects) {
    sum += weight_of(one) * one.effect.log_ratio;
    weights.push_back(weight_of(one) / all);
  }
  const Estimate ratio = estimate_of(sum / all, effects, weights, noise);
  const Interval log = interval_of(ratio, alpha);
  // A longer period means a smaller effect, so the ends change places.
  Interval effect = {1 - std::exp(log.value), 1 - std::exp(log.high), 1 - std::exp(log.low)};
  if (factor.value == 1 && factor.relative_error == 0) return effect;
  const double t = statistics::student_t_quantile(alpha / 2, noise.freedom);
  const double error = t * factor.relative_error * effect.value;
  return Interval{factor.value * effect.value,
                  factor.value * (effect.value - std::hypot(effect.value - effect.low, error)),
                  factor.value * (effect.value + std::hypot(effect.high - effect.value, error))};
}

std::optional<Estimate> slope_of(const CleanUnit& unit) {
  if (unit.effects.size() < kFewestForSlope || unit.noise.freedom == 0) return std::nullopt;
  double squares = 0;
  for (const Clean& one : unit.effects) {
    squares += weight_of(one) * one.effect.experiment->speedup * one.effect.experiment->speedup;
  }
  double slope = 0;
  std::vector<double> weights;
  for (const Clean& one : unit.effects) {
    // The noise of the logarithm is carried over linearly, so that it causes no bias.
    const double ratio = std::exp(one.fitted);
    const double weight = weight_of(one) * one.effect.experiment->speedup / squares;
    slope += weight * (1 - ratio * (1 + one.effect.log_ratio - one.fitted));
    weights.push_back(weight * ratio);
  }
  return estimate_of(slope, unit.effects, weights, unit.noise);
}

std::vector<report::CurvePoint> curve_of(const CleanUnit& unit, const Point& point, double alpha,
                                         const Factor& factor) {
  std::map<double, std::vector<Clean>> by_speedup;
  for (const Clean& one : unit.effects) by_speedup[one.effect.experiment->speedup].push_back(one);
  std::vector<report::CurvePoint> curve;
  for (const auto& [speedup, group] : by_speedup) {
    const auto effect = effect_of(group, unit.noise, alpha, factor);
    if (!effect) continue;
    curve.push_back(described(group, point));
    curve.back().speedup = speedup;
    curve.back().effect = *effect;
  }
  return curve;
}

std::vector<report::CurvePoint> summary_of(const CleanUnit& unit, const Point& point, double alpha,
                                           const Factor& factor) {
  std::vector<report::CurvePoint> summary;
  for (const Pool& limits : kPools) {
    std::vector<Clean> group;
    for (const Clean& one : unit.effects) {
      const double speedup = one.effect.experiment->speedup;
      if (speedup >= limits.low && speedup < limits.high) group.push_back(one);
    }
    if (group.size() < kFewestForSlope) continue;
    const auto effect = effect_of(group, unit.noise, alpha, factor);
    if (!effect) continue;
    summary.push_back(described(group, point));
    summary.back().effect = *effect;
  }
  return summary;
}

}  // namespace causalctl::causal

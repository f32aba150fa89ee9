#include "controller/causal/analysis/estimate_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "controller/base/statistics.h"

namespace causalctl::causal {
namespace {

constexpr std::size_t kBaselinePrior = 8;      // baselines count as this many observations
constexpr std::size_t kFewestForOwnScale = 8;  // treatments
constexpr std::size_t kFewestNulls = 3;
constexpr int kKnees = 10;                 // knees at 0.1, 0.2, … 1 are tried
constexpr std::size_t kFewForMedian = 40;  // treatments
// With two baselines the variance of a log ratio is this multiple of one log period's.
constexpr double kTwoBaselines = 1.5;
constexpr double kLargestEffect = 0.99;

// Returns the standard deviation of this log ratio divided by that of one log period.
double scale_of(const Effect& effect) {
  const std::array<double, 1> weight = {1};
  return std::sqrt(variance_factor(std::span(&effect, 1), weight));
}

struct Pair {
  double x;
  double effect;
  double scale;  // scale of its noise
};

// Fits a line through the origin by least absolute deviations: its slope is the weighted median of
// the slopes to each pair.
double l1_slope(std::vector<Pair> pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair& a, const Pair& b) { return a.effect * b.x < b.effect * a.x; });
  double total = 0;
  for (const Pair& pair : pairs) total += pair.x / pair.scale;
  double sum = 0;
  for (const Pair& pair : pairs) {
    sum += pair.x / pair.scale;
    if (2 * sum >= total) return pair.effect / pair.x;
  }
  return 0;
}

struct Fit {
  double slope = 0;
  double knee = 1;
  double loss = std::numeric_limits<double>::infinity();
};

// Returns the sum of deviations, each counted up to `farthest`: a larger one is a stall, whatever
// its size.
double loss_of(const std::vector<Pair>& pairs, double slope, double farthest) {
  double loss = 0;
  for (const Pair& pair : pairs) {
    loss += std::min(std::abs(pair.effect - slope * pair.x) / pair.scale, farthest);
  }
  return loss;
}

// Returns the slope and knee with the smallest loss, or the straight line if no knee is better. If
// treatments are few, one with a high speedup can have half of the weight, and the median follows
// it even if it is a stall. So the slope through each single treatment is tried then, too.
Fit best_fit(std::span<const Effect> effects, double farthest) {
  Fit best;
  for (int step = kKnees; step > 0; --step) {
    const double knee = static_cast<double>(step) / kKnees;
    std::vector<Pair> pairs;
    for (const Effect& effect : effects) {
      pairs.push_back({std::min(effect.experiment->speedup, knee), 1 - std::exp(effect.log_ratio),
                       effect.noise_scale});
    }
    std::vector<double> slopes = {l1_slope(pairs)};
    if (pairs.size() <= kFewForMedian) {
      for (const Pair& pair : pairs) slopes.push_back(pair.effect / pair.x);
    }
    for (const double slope : slopes) {
      const double loss = loss_of(pairs, slope, farthest);
      if (loss < best.loss) best = {slope, knee, loss};
    }
  }
  return best;
}

// Returns the log ratios on the fitted curve.
std::vector<double> fit_curve(std::span<const Effect> effects, const Noise& baselines) {
  const double farthest = baselines.freedom > 0
                              ? kFar * std::sqrt(kTwoBaselines * baselines.variance)
                              : std::numeric_limits<double>::infinity();
  const Fit fit = best_fit(effects, farthest);
  std::vector<double> fitted;
  for (const Effect& effect : effects) {
    const double value = fit.slope * std::min(effect.experiment->speedup, fit.knee);
    fitted.push_back(std::log(1 - std::min(value, kLargestEffect)));
  }
  return fitted;
}

// Returns the number of the curve's parameters, which is one if all speedups are equal.
std::size_t parameters(std::span<const Effect> effects) {
  std::set<double> speedups;
  for (const Effect& effect : effects) speedups.insert(effect.experiment->speedup);
  return speedups.size() > 1 ? 2 : 1;
}

struct Residuals {
  std::vector<double> fitted;
  std::vector<double> standard;  // divided by scale_of
  std::size_t freedom = 0;
};

Residuals residuals_of(std::span<const Effect> effects, std::vector<double> fitted,
                       std::size_t parameters) {
  Residuals residuals;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    residuals.standard.push_back((effects[i].log_ratio - fitted[i]) / scale_of(effects[i]));
  }
  residuals.fitted = std::move(fitted);
  residuals.freedom = effects.size() - std::min(effects.size(), parameters);
  return residuals;
}

// Returns the sum of squares that belongs to `freedom`, as if all residuals were normal.
double squares_of(const Residuals& residuals, double deviation) {
  double sum = 0;
  for (const double residual : residuals.standard) {
    if (std::abs(residual) > std::max(kFar * deviation, kLeastStall)) continue;
    const double value = statistics::clipped(residual, deviation);
    sum += value * value / statistics::kClippedVariance;
  }
  return sum;
}

// Returns the deviation by which to clip. It is wide enough not to clip the bends of a curve whose
// shape is not ours.
double clip_deviation(const Residuals& residuals, double deviation) {
  if (residuals.standard.size() < kFewestForOwnScale) return deviation;
  return std::max(deviation, statistics::robust_deviation(residuals.standard));
}

Noise shrunk(const Noise& prior, std::size_t most, double squares, std::size_t freedom) {
  const std::size_t prior_freedom = std::min(prior.freedom, most);
  const std::size_t total = prior_freedom + freedom;
  if (total == 0) return {};
  return {
      (static_cast<double>(prior_freedom) * prior.variance + squares) / static_cast<double>(total),
      total};
}

CleanUnit cleaned(std::span<const Effect> effects, const Residuals& residuals, double deviation,
                  const Noise& noise) {
  CleanUnit unit;
  unit.noise = noise;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    // Stalls only make periods longer, so clipped ones would still push in one direction.
    if (std::abs(residuals.standard[i]) > std::max(kFar * deviation, kLeastStall)) continue;
    Clean one{effects[i], residuals.fitted[i]};
    one.effect.log_ratio = one.fitted + statistics::clipped(residuals.standard[i], deviation) /
                                            statistics::kUnclipped * scale_of(effects[i]);
    unit.effects.push_back(one);
  }
  return unit;
}

Residuals residuals_of_nulls(std::span<const Effect> nulls) {
  std::vector<double> ratios;
  for (const Effect& effect : nulls) ratios.push_back(effect.log_ratio);
  // Each ratio shares baselines with the next one, so the mean has more than 1/n of the variance:
  // it costs 4/3 degrees of freedom, rounded up to 2.
  return residuals_of(nulls, std::vector<double>(nulls.size(), statistics::median(ratios)), 2);
}

}  // namespace

void scale_noise(PointEffects& effects) {
  if (effects.within) return;  // it is scaled by the number of samples
  std::vector<std::vector<Effect>> nulls;
  for (const Effect& null : effects.nulls) {
    if (nulls.size() <= null.run) nulls.resize(null.run + 1);
    nulls[null.run].push_back(null);
  }
  std::vector<Noise> noises;
  for (const std::vector<Effect>& of_run : nulls) noises.push_back(baseline_noise(of_run));
  const std::vector<double> scales = noise_scales(noises);
  for (std::vector<Effect>* all : {&effects.treatments, &effects.nulls}) {
    for (Effect& effect : *all) {
      if (effect.run < scales.size()) effect.noise_scale = scales[effect.run];
    }
  }
}

Noise baseline_noise(std::span<const Effect> nulls) {
  if (nulls.size() < kFewestNulls) return {};
  const Residuals residuals = residuals_of_nulls(nulls);
  const double squares = squares_of(residuals, statistics::robust_deviation(residuals.standard));
  return {squares / static_cast<double>(residuals.freedom), residuals.freedom};
}

CleanUnit clean_nulls(std::span<const Effect> nulls) {
  if (nulls.size() < kFewestNulls) return {};
  const Residuals residuals = residuals_of_nulls(nulls);
  return cleaned(nulls, residuals, statistics::robust_deviation(residuals.standard),
                 baseline_noise(nulls));
}

std::vector<CleanUnit> clean(std::span<const std::vector<Effect>> units, const Noise& baselines,
                             std::size_t alike) {
  std::vector<Residuals> all;
  std::vector<double> everything;
  for (const std::vector<Effect>& effects : units) {
    all.push_back(residuals_of(effects, fit_curve(effects, baselines), parameters(effects)));
    everything.insert(everything.end(), all.back().standard.begin(), all.back().standard.end());
  }
  if (everything.empty()) return std::vector<CleanUnit>(units.size());

  // Residuals around a curve that was fitted to few treatments are too small, so the deviation is
  // at least that of the baselines.
  const double deviation =
      std::max(std::sqrt(baselines.variance), statistics::robust_deviation(everything));
  double squares = 0;
  std::size_t freedom = 0;
  for (const Residuals& residuals : all) {
    if (residuals.freedom == 0) continue;
    squares += squares_of(residuals, clip_deviation(residuals, deviation));
    freedom += residuals.freedom;
  }
  const Noise noise = shrunk(baselines, kBaselinePrior, squares, freedom);

  std::vector<CleanUnit> clean_units;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double clip = clip_deviation(all[i], deviation);
    const double own = all[i].freedom == 0 ? 0 : squares_of(all[i], clip);
    clean_units.push_back(
        cleaned(units[i], all[i], clip, shrunk(noise, alike, own, all[i].freedom)));
  }
  return clean_units;
}

}  // namespace causalctl::causal

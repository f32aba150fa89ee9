#include "controller/causal/estimate_effect.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "controller/causal/statistics.h"

namespace causalctl::causal {
namespace {

constexpr double kTrim = 0.2;  // of the residuals, at each end

// Pools of the summary: speedups from `low` up to but not including `high`.
struct Pool {
  double low;
  double high;
};
constexpr std::array<Pool, 3> kPools = {{{0.0, 0.375}, {0.375, 0.725}, {0.725, 1.001}}};

template <typename Count>
const Count* find(const std::vector<Count>& counts, const std::string& name) {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [&](const Count& count) { return count.name == name; });
  return found == counts.end() ? nullptr : &*found;
}

double seconds(Nanoseconds time_ns) {
  return static_cast<double>(time_ns) / static_cast<double>(kSecond);
}

// Little's law, L = λW (§3.3): the time in the system is the number in it over the arrival rate.
double latency_s(const Experiment& experiment, const LatencyCount& count) {
  if (count.mean_ns > 0) return seconds(count.mean_ns);
  if (count.begins == 0) return 0;
  const double in_progress =
      static_cast<double>(count.in_progress_start + count.in_progress_end) / 2;
  return in_progress * seconds(experiment.effective_ns) / static_cast<double>(count.begins);
}

double throughput_s(const Experiment& experiment, const ThroughputCount& count) {
  if (count.visits == 0) return 0;
  if (count.visits == 1) return seconds(experiment.effective_ns);
  return seconds(count.last_ns - count.first_ns) / static_cast<double>(count.visits - 1);
}

struct Observation {
  const Experiment* experiment;
  double log_period;
};

// Those that count and have data, in time order.
std::vector<Observation> observe(const Run& run, const Point& point) {
  std::vector<Observation> all;
  for (const Experiment& experiment : run.experiments) {
    if (!experiment.discarded.empty()) continue;
    if (const auto period = period_s(experiment, point)) {
      all.push_back({&experiment, std::log(*period)});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Observation& a, const Observation& b) {
    return a.experiment->start_ns < b.experiment->start_ns;
  });
  return all;
}

// The geometric mean of the baselines: with it the null effect has no bias.
std::optional<Effect> against(const Observation& observation, const Observation* before,
                              const Observation* after) {
  if (before == nullptr && after == nullptr) return std::nullopt;
  Effect effect;
  effect.experiment = observation.experiment;
  double sum = 0;
  double count = 0;
  for (const Observation* baseline : {before, after}) {
    if (baseline == nullptr) continue;
    effect.baselines[baseline == after ? 1 : 0] = baseline->experiment;
    sum += baseline->log_period;
    ++count;
  }
  effect.log_ratio = observation.log_period - sum / count;
  return effect;
}

bool is_baseline(const Observation& observation) { return observation.experiment->speedup == 0; }

void compare_run(const std::vector<Observation>& all, std::vector<Effect>& treatments) {
  const Observation* before = nullptr;
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (is_baseline(*it)) {
      before = &*it;
      continue;
    }
    const auto after = std::find_if(it, all.end(), is_baseline);
    if (auto effect = against(*it, before, after == all.end() ? nullptr : &*after)) {
      treatments.push_back(*effect);
    }
  }
}

// Every second baseline plays the treatment, so that the self-check runs through what the results
// run through. Comparing *every* baseline with its neighbours would be no check: the sum telescopes
// to nothing whatever the data.
void compare_nulls(std::vector<Observation> all, std::vector<Effect>& nulls) {
  std::erase_if(all, [](const Observation& observation) { return !is_baseline(observation); });
  for (std::size_t i = 1; i < all.size(); i += 2) {
    const Observation* after = i + 1 < all.size() ? &all[i + 1] : nullptr;
    if (auto effect = against(all[i], &all[i - 1], after)) nulls.push_back(*effect);
  }
}

// Effects that share a baseline err together. With equal noise in all experiments, the variance of
// their weighted sum over what it would be were they independent.
double design_effect(std::span<const Effect> effects, std::span<const double> weights) {
  std::map<const Experiment*, double> shares;  // of each baseline in the sum
  double own = 0;
  double independent = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const auto& [before, after] = effects[i].baselines;
    const double part = before != nullptr && after != nullptr ? 0.5 : 1;
    own += weights[i] * weights[i];
    for (const Experiment* baseline : {before, after}) {
      if (baseline == nullptr) continue;
      shares[baseline] += weights[i] * part;
      independent += weights[i] * weights[i] * part * part;
    }
  }
  double shared = 0;
  for (const auto& [baseline, share] : shares) shared += share * share;
  return (own + shared) / (own + independent);
}

struct Pair {
  double speedup;
  double effect;
};

// The weighted median of the single slopes.
double l1_slope(std::vector<Pair> pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.effect * b.speedup < b.effect * a.speedup;
  });
  double total = 0;
  for (const Pair& pair : pairs) total += pair.speedup;
  double sum = 0;
  for (const Pair& pair : pairs) {
    sum += pair.speedup;
    if (2 * sum >= total) return pair.effect / pair.speedup;
  }
  return 0;
}

// Least squares through the origin without the 20 % highest and lowest residuals, which are taken
// from the L1 fit: a stalled machine moves neither.
double robust_slope(std::vector<Pair> pairs) {
  const double start = l1_slope(pairs);
  const auto by_residual = [start](const Pair& a, const Pair& b) {
    return a.effect - start * a.speedup < b.effect - start * b.speedup;
  };
  const auto cut = static_cast<std::ptrdiff_t>(kTrim * static_cast<double>(pairs.size()));
  std::nth_element(pairs.begin(), pairs.begin() + cut, pairs.end(), by_residual);
  std::nth_element(pairs.begin() + cut, pairs.end() - cut - 1, pairs.end(), by_residual);
  double products = 0;
  double squares = 0;
  for (auto pair = pairs.begin() + cut; pair != pairs.end() - cut; ++pair) {
    products += pair->speedup * pair->effect;
    squares += pair->speedup * pair->speedup;
  }
  return products / squares;
}

double linear_effect(const Effect& effect) { return 1 - std::exp(effect.log_ratio); }

report::CurvePoint pool(std::span<const Effect> effects, const Point& point) {
  report::CurvePoint pooled;
  for (const Effect& effect : effects) {
    pooled.speedup += effect.experiment->speedup;
    pooled.visits += visits_of(*effect.experiment, point);
  }
  pooled.speedup /= static_cast<double>(effects.size());
  pooled.experiments = effects.size();
  return pooled;
}

}  // namespace

std::optional<double> period_s(const Experiment& experiment, const Point& point) {
  double period = 0;
  if (point.latency) {
    const LatencyCount* count = find(experiment.latency, point.name);
    if (count != nullptr) period = latency_s(experiment, *count);
  } else {
    const ThroughputCount* count = find(experiment.throughput, point.name);
    if (count != nullptr) period = throughput_s(experiment, *count);
  }
  return period > 0 ? std::optional(period) : std::nullopt;
}

std::uint64_t visits_of(const Experiment& experiment, const Point& point) {
  if (point.latency) {
    const LatencyCount* count = find(experiment.latency, point.name);
    return count != nullptr ? count->ends : 0;
  }
  const ThroughputCount* count = find(experiment.throughput, point.name);
  return count != nullptr ? count->visits : 0;
}

PointEffects compare(const std::vector<Run>& runs, const Point& point) {
  PointEffects effects;
  for (const Run& run : runs) {
    std::vector<Observation> all = observe(run, point);
    compare_run(all, effects.treatments);
    compare_nulls(std::move(all), effects.nulls);
  }
  return effects;
}

std::optional<report::Interval> effect_of(std::span<const Effect> effects) {
  std::vector<double> ratios;
  for (const Effect& effect : effects) ratios.push_back(effect.log_ratio);
  const std::vector<double> weights(ratios.size(), 1.0);
  if (ratios.size() < kFewestForInterval) return std::nullopt;
  const auto range = trimmed_mean_interval(ratios, design_effect(effects, weights));
  // A longer period is a smaller effect: the ends change places.
  return report::Interval{1 - std::exp(trimmed_mean(ratios)), 1 - std::exp(range->high),
                          1 - std::exp(range->low)};
}

std::optional<report::Interval> slope_of(std::span<const Effect> effects) {
  if (effects.size() < kFewestForInterval) return std::nullopt;
  std::vector<Pair> pairs;
  std::vector<double> weights;
  for (const Effect& effect : effects) {
    pairs.push_back({effect.experiment->speedup, linear_effect(effect)});
    weights.push_back(effect.experiment->speedup);
  }
  std::vector<Pair> drawn;
  const auto range = bootstrap(pairs.size(), design_effect(effects, weights),
                               [&](std::span<const std::size_t> indices) {
                                 drawn.clear();
                                 for (const std::size_t index : indices) {
                                   drawn.push_back(pairs[index]);
                                 }
                                 return robust_slope(drawn);
                               });
  return report::Interval{robust_slope(pairs), range->low, range->high};
}

std::vector<report::CurvePoint> curve_of(std::span<const Effect> effects, double slope,
                                         const Point& point) {
  std::map<double, std::vector<Effect>> by_speedup;
  double squares = 0;
  for (const Effect& effect : effects) {
    const double residual = linear_effect(effect) - slope * effect.experiment->speedup;
    squares += residual * residual;
    by_speedup[effect.experiment->speedup].push_back(effect);
  }
  std::vector<report::CurvePoint> curve;
  for (const auto& [speedup, group] : by_speedup) {
    report::CurvePoint at = pool(group, point);
    at.speedup = speedup;
    if (const auto effect = effect_of(group)) {
      at.effect = *effect;
    } else {
      // One or two experiments say nothing of their own spread: take that of all the unit's around
      // its line, which can only be too wide.
      const std::size_t freedom = effects.size() - 1;
      double value = 0;
      for (const Effect& one : group) value += linear_effect(one);
      value /= static_cast<double>(group.size());
      const double half =
          student_t_975(freedom) * std::sqrt(squares / static_cast<double>(freedom * group.size()));
      at.effect = {value, value - half, value + half};
    }
    curve.push_back(at);
  }
  return curve;
}

std::vector<report::CurvePoint> summary_of(std::span<const Effect> effects, const Point& point) {
  std::vector<report::CurvePoint> summary;
  for (const Pool& limits : kPools) {
    std::vector<Effect> group;
    for (const Effect& effect : effects) {
      const double speedup = effect.experiment->speedup;
      if (speedup >= limits.low && speedup < limits.high) group.push_back(effect);
    }
    const auto effect = effect_of(group);
    if (!effect) continue;
    summary.push_back(pool(group, point));
    summary.back().effect = *effect;
  }
  return summary;
}

}  // namespace causalctl::causal

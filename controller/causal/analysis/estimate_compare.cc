#include "controller/causal/analysis/estimate_compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "controller/base/statistics.h"
#include "controller/causal/analysis/share_effect.h"
#include "controller/causal/analysis/unpaired.h"

namespace causalctl::causal {
namespace {

constexpr std::size_t kFewestForStalls = 5;
// Bounds of the scale of noise, because what it is computed from has errors itself.
constexpr double kMostOfTheTime = 0.95;
constexpr double kLeastOfShare = 0.1;  // what a unit gains, as a part of its share of the time

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

// What is unfelt of the time that the program stood still is real time for the point.
double partly_real(double virtual_s, const Experiment& experiment, const ThroughputCount& count,
                   double unfelt) {
  if (unfelt == 0 || virtual_s <= 0) return virtual_s;
  const double real_s = seconds(experiment.wall_ns) / static_cast<double>(count.visits);
  return std::pow(virtual_s, 1 - unfelt) * std::pow(real_s, unfelt);
}

// The same time per visit as throughput_s(), in real seconds; 0 if the log does not have it.
double real_throughput_s(const Experiment& experiment, const ThroughputCount& count) {
  if (count.visits == 0) return 0;
  if (count.visits == 1) return seconds(experiment.effective_ns + experiment.delay_ns);
  return seconds(count.real_ns) / static_cast<double>(count.visits - 1);
}

// Returns log(virtual / real time per visit); nullopt if there are no visits, or it is not known.
std::optional<double> log_gain(const Experiment& experiment, const Point& point, double unfelt) {
  const ThroughputCount* count = find(experiment.throughput, point.name);
  if (point.latency || count == nullptr) return std::nullopt;
  const double virtual_s = throughput_s(experiment, *count);
  const double real_s = real_throughput_s(experiment, *count);
  if (virtual_s <= 0 || real_s <= 0) return std::nullopt;
  return (1 - unfelt) * std::log(virtual_s / real_s);
}

// Returns whether a treatment of the runs is comparable with its own real time.
bool is_comparable_within(const std::vector<Run>& runs, const Point& point) {
  bool any = false;
  for (const Run& run : runs) {
    for (const Experiment& experiment : run.experiments) {
      if (!experiment.discarded.empty() || !period_s(experiment, point)) continue;
      if (experiment.asked_ns != 0 || experiment.pauses != 0) return false;
      if (!log_gain(experiment, point, 0)) return false;
      any = true;
    }
  }
  return any;
}

struct Observation {
  const Experiment* experiment;
  double log_period;  // within: relative to the real one
};

// Those that count and have data, in time order.
std::vector<Observation> observe(const Run& run, const Point& point, double unfelt, bool within) {
  std::vector<Observation> all;
  for (const Experiment& experiment : run.experiments) {
    if (!experiment.discarded.empty()) continue;
    if (const auto period = period_s(experiment, point, unfelt)) {
      all.push_back(
          {&experiment, within ? *log_gain(experiment, point, unfelt) : std::log(*period)});
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

// Stalls: further from the median of the two baselines before and the two after it than noise goes.
std::vector<bool> find_stalls(const std::vector<Observation>& baselines) {
  const std::size_t n = baselines.size();
  std::vector<bool> stalled(n, false);
  if (n < kFewestForStalls) return stalled;
  std::vector<double> distances(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = std::min(i < 2 ? 0 : i - 2, n - 5);
    std::vector<double> around;
    for (std::size_t k = first; k < first + 5; ++k) {
      if (k != i) around.push_back(baselines[k].log_period);
    }
    distances[i] = baselines[i].log_period - statistics::median(around);
  }
  const double far = std::max(kFar * statistics::robust_deviation(distances), kLeastStall);
  for (std::size_t i = 0; i < n; ++i) stalled[i] = std::abs(distances[i]) > far;
  return stalled;
}

// The baselines of a run, and which of them can be compared with.
struct Baselines {
  std::vector<Observation> all;
  std::vector<bool> stalled;

  explicit Baselines(const std::vector<Observation>& observations) {
    std::copy_if(observations.begin(), observations.end(), std::back_inserter(all), is_baseline);
    stalled = find_stalls(all);
  }
  // Nearest in steps of `step` from `from` on (exclusive end at the ends of `all`).
  const Observation* nearest(std::ptrdiff_t from, std::ptrdiff_t step) const {
    for (; from >= 0 && from < std::ssize(all); from += step) {
      const auto i = static_cast<std::size_t>(from);
      if (!stalled[i]) return &all[i];
    }
    return nullptr;
  }
};

void compare_run(const std::vector<Observation>& all, const Baselines& baselines,
                 const Unfelt& unfelt, const ShareEffect& share, std::vector<Effect>& treatments) {
  std::ptrdiff_t passed = 0;
  for (const Observation& observation : all) {
    if (is_baseline(observation)) {
      ++passed;
      continue;
    }
    if (auto effect =
            against(observation, baselines.nearest(passed - 1, -1), baselines.nearest(passed, 1))) {
      effect->unfelt = unfelt;
      effect->log_ratio = share.with_share(*effect->experiment, effect->log_ratio);
      treatments.push_back(*effect);
    }
  }
}

// Gives the effects the noise of the number of samples in the unit. What is gained is in proportion
// to it, so its relative error is that of the number: binomial, by the mean share of the time that
// the unit has. A part of the noise is not in proportion, so the variance is taken to grow as the
// power 1.5 of the speedup, not 2: small speedups, at which it is the larger part, would count too
// much. By the number and the gain of the experiment itself, those with few samples would count
// more, and effects would be too small; so means over the unit's experiments stand for them.
// Baselines have no samples to hang on, and no part in it.
void scale_by_samples(const std::vector<Run>& runs, std::vector<Effect>& effects) {
  struct Seen {
    double samples = 0, wall_ns = 0;
    double gain = 0, speedup = 0;
  };
  std::map<std::string, Seen> units;
  for (const Effect& effect : effects) {
    Seen& seen = units[effect.experiment->unit.name];
    seen.samples += static_cast<double>(effect.experiment->samples);
    seen.wall_ns += static_cast<double>(effect.experiment->wall_ns);
    seen.gain += 1 - std::exp(effect.log_ratio);
    seen.speedup += effect.experiment->speedup;
  }
  for (Effect& effect : effects) {
    const Experiment& experiment = *effect.experiment;
    const Seen& seen = units[experiment.unit.name];
    const auto wall_ns = static_cast<double>(experiment.wall_ns);
    const double expected = std::max(1.0, seen.samples * wall_ns / seen.wall_ns);
    const double share =
        std::min(expected * static_cast<double>(runs[effect.run].overhead.period_ns) / wall_ns,
                 kMostOfTheTime);
    const double slope =
        std::clamp(std::abs(seen.gain) / seen.speedup, kLeastOfShare * share, kMostOfTheTime);
    const double gain = experiment.speedup * slope;
    effect.noise_scale = std::pow(gain, 0.75) * std::pow(slope, 0.25) *
                         std::sqrt((1 - share) / expected) / (1 - gain);
    effect.baselines = {};
  }
}

// Every second baseline plays the treatment, so that the self-check runs through what the results
// run through. Comparing *every* baseline with its neighbours would be no check: the sum telescopes
// to nothing whatever the data.
void compare_nulls(const Baselines& baselines, std::vector<Effect>& nulls) {
  for (std::ptrdiff_t i = 1; i < std::ssize(baselines.all); i += 2) {
    if (auto effect = against(baselines.all[static_cast<std::size_t>(i)],
                              baselines.nearest(i - 1, -2), baselines.nearest(i + 1, 2))) {
      nulls.push_back(*effect);
    }
  }
}

}  // namespace

std::optional<double> period_s(const Experiment& experiment, const Point& point, double unfelt) {
  double period = 0;
  if (point.latency) {
    const LatencyCount* count = find(experiment.latency, point.name);
    if (count != nullptr) period = latency_s(experiment, *count);
  } else {
    const ThroughputCount* count = find(experiment.throughput, point.name);
    if (count != nullptr) {
      period = partly_real(throughput_s(experiment, *count), experiment, *count, unfelt);
    }
  }
  return period > 0 ? std::optional(period) : std::nullopt;
}

bool was_counted(const Experiment& experiment, const Point& point) {
  return point.latency ? find(experiment.latency, point.name) != nullptr
                       : find(experiment.throughput, point.name) != nullptr;
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
  effects.within = is_comparable_within(runs, point);
  for (std::size_t number = 0; number < runs.size(); ++number) {
    const Run& run = runs[number];
    if (unpaired(run, point)) continue;
    const Unfelt unfelt = point.latency ? Unfelt{} : unfelt_of(run, point.name);
    const std::vector<Observation> all = observe(run, point, unfelt.share, effects.within);
    const Baselines baselines(all);
    const std::size_t treatments = effects.treatments.size();
    const std::size_t nulls = effects.nulls.size();
    const ShareEffect share(run, point, unfelt.share == 0);
    compare_run(all, baselines, unfelt, share, effects.treatments);
    compare_nulls(baselines, effects.nulls);
    for (Effect& effect : std::span(effects.treatments).subspan(treatments)) effect.run = number;
    for (Effect& effect : std::span(effects.nulls).subspan(nulls)) effect.run = number;
  }
  if (effects.within) scale_by_samples(runs, effects.treatments);
  return effects;
}

double systematic_error(std::span<const Effect> effects, std::span<const double> weights) {
  double cost = 0;
  double model = 0;
  double pace = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const Experiment& treatment = *effects[i].experiment;
    const Unfelt& unfelt = effects[i].unfelt;
    if (treatment.effective_ns <= 0) continue;
    pace += weights[i] * unfelt.error *
            std::log1p(seconds(treatment.delay_ns) / seconds(treatment.effective_ns));
    // Virtual time, and what falsifies it, counts for what is felt.
    const double weight =
        weights[i] * (1 - unfelt.share) / static_cast<double>(treatment.effective_ns);
    cost += weight * static_cast<double>(treatment.cost_error_ns);
    model += weight * static_cast<double>(treatment.model_error_ns);
  }
  return std::hypot(cost, model, pace);
}

double variance_factor(std::span<const Effect> effects, std::span<const double> weights) {
  std::map<const Experiment*, double> shares;  // of each baseline in the sum
  double factor = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const auto& [before, after] = effects[i].baselines;
    const double part = before != nullptr && after != nullptr ? 0.5 : 1;
    const double weight = weights[i] * effects[i].noise_scale;
    factor += weight * weight;
    if (before != nullptr) shares[before] += weight * part;
    if (after != nullptr) shares[after] += weight * part;
  }
  for (const auto& [baseline, share] : shares) factor += share * share;
  return factor;
}

}  // namespace causalctl::causal

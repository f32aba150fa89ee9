#include "controller/causal/analysis/share_effect.h"

#include <algorithm>
#include <cmath>

#include "controller/causal/analysis/beside_strangers.h"

namespace causalctl::causal {
namespace {

// No period is shorter than this part of that of the baselines: noise must not make it negative.
constexpr double kShortest = 0.001;

struct Sum {
  double wall = 0;
  double visits = 0;
  std::uint64_t samples = 0;
  CoreTotals cores;

  void add(const Experiment& experiment, const Point& point) {
    wall += static_cast<double>(experiment.wall_ns);
    visits += static_cast<double>(visits_of(experiment, point));
    samples += experiment.samples;
    cores += experiment.cores;
  }
};

// Whether strangers want the cores: the part of the time for which they would have as much as the
// busiest thread, and no core idles.
double wanted(const Sum& all) {
  const double idle = static_cast<double>(all.cores.idle_ns);
  const auto known = static_cast<double>(all.cores.cpu_ns + all.cores.peers_cpu_ns);
  const double theirs = all.cores.cores * all.wall - idle - known;
  const auto busiest = static_cast<double>(all.cores.busiest_cpu_ns);
  if (busiest <= 0) return 0;
  return std::clamp(theirs / busiest, 0.0, 1.0) * std::clamp(1 - idle / all.wall, 0.0, 1.0);
}

// The share of the time in which a quota is used up, and shared instead of the cores.
double in_quota(const Sum& baselines) {
  if (baselines.wall <= 0) return 0;
  return std::min(1.0, static_cast<double>(baselines.cores.quota_ns) / baselines.wall);
}

double scale_of_cores(const Sum& all, const Sum& baselines) {
  const double core_time = baselines.cores.cores * baselines.wall;
  return core_time > 0 ? (1 - in_quota(baselines)) * wanted(all) / core_time : 0;
}

// Pauses change what target and peers use, so baselines tell what there is for them.
double scale_of_quota(const Sum& baselines) {
  const auto granted_ns = static_cast<double>(baselines.cores.quota_granted_ns);
  if (granted_ns <= 0) return 0;
  const double granted = granted_ns / static_cast<double>(baselines.cores.quota_ns);
  return in_quota(baselines) / (granted * baselines.wall);
}

// The part of the unit's CPU time that coupled threads had.
double coupled_part(const Sum& unit, Nanoseconds period_ns) {
  const double all = static_cast<double>(unit.samples) * static_cast<double>(period_ns);
  return all > 0 ? std::min(1.0, static_cast<double>(unit.cores.coupled_unit_ns) / all) : 0;
}

}  // namespace

ShareEffect::ShareEffect(const Run& run, const Point& point, bool felt) {
  if (point.latency || !felt) return;
  Sum all;
  Sum baselines;
  std::map<std::string, Sum> units;
  for (const Experiment& experiment : run.experiments) {
    if (!experiment.discarded.empty()) continue;
    all.add(experiment, point);
    (experiment.speedup == 0 ? baselines : units[experiment.unit.name]).add(experiment, point);
  }
  const CoresShared shared = classify(all.cores);
  if (baselines.visits <= 0 || (!shared.matters && shared.quota_share == 0)) return;
  if (shared.matters) cores_scale_ = scale_of_cores(all, baselines);
  quota_scale_ = scale_of_quota(baselines);
  stopped_ = static_cast<double>(baselines.cores.quota_stopped_ns) / baselines.wall;
  for (const auto& [name, unit] : units) {
    if (unit.visits <= 0) continue;
    // A virtual speedup changes nothing of what the code takes, but visits may be fewer. Both parts
    // are of the same experiments: which threads are coupled may differ in others.
    const double by_visits = baselines.visits / unit.visits;
    Share& share = shares_[name];
    share.coupled_ns = by_visits * static_cast<double>(unit.cores.coupled_cpu_ns);
    share.unit_ns = by_visits * static_cast<double>(unit.cores.coupled_unit_ns);
    share.coupled = coupled_part(unit, run.overhead.period_ns);
  }
}

double ShareEffect::mixed(const Share& share, double scale, double effect, double speedup) {
  const double lost = share.coupled * std::min(1.0, scale * share.coupled_ns) * effect;
  return effect - lost + speedup * scale * share.unit_ns;
}

double ShareEffect::with_share(const Experiment& treatment, double log_ratio) const {
  const auto found = shares_.find(treatment.unit.name);
  if (found == shares_.end()) return log_ratio;
  const double effect = 1 - std::exp(log_ratio);
  const auto with = [&](double scale) {
    return mixed(found->second, scale, effect, treatment.speedup);
  };
  double left = 1 - with(cores_scale_ + quota_scale_);
  if (quota_scale_ > 0) left = std::max(left, (1 - stopped_) * (1 - with(cores_scale_)));
  return std::log(std::max(left, kShortest));
}

}  // namespace causalctl::causal

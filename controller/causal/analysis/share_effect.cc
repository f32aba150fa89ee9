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

// One by the cores' time, as far as others want it: of p and u p, what is not of the threads. While
// a quota is used up it is the quota that is shared, and always wanted.
double scale_of(const Sum& all, const Sum& baselines, bool strangers) {
  const double in_quota =
      all.wall > 0 ? std::min(1.0, static_cast<double>(all.cores.quota_ns) / all.wall) : 0;
  double scale = 0;
  const double core_time = baselines.cores.cores * baselines.wall;
  if (strangers && core_time > 0) {
    scale += (1 - in_quota) * wanted(all) / core_time;
  }
  if (in_quota > 0) {
    const double granted =
        static_cast<double>(all.cores.quota_granted_ns) / static_cast<double>(all.cores.quota_ns);
    if (granted > 0 && baselines.wall > 0) scale += in_quota / (granted * baselines.wall);
  }
  return scale;
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
  const double scale = scale_of(all, baselines, shared.matters);
  for (const auto& [name, unit] : units) {
    if (unit.visits <= 0) continue;
    // A virtual speedup changes nothing of what the code takes, but visits may be fewer. Both parts
    // are of the same experiments: which threads are coupled may differ in others.
    const double scaled = scale * baselines.visits / unit.visits;
    Share& share = shares_[name];
    share.of_cores = std::min(1.0, scaled * static_cast<double>(unit.cores.coupled_cpu_ns));
    share.of_unit = scaled * static_cast<double>(unit.cores.coupled_unit_ns);
    share.coupled = coupled_part(unit, run.overhead.period_ns);
  }
}

double ShareEffect::with_share(const Experiment& treatment, double log_ratio) const {
  const auto found = shares_.find(treatment.unit.name);
  if (found == shares_.end()) return log_ratio;
  const Share& share = found->second;
  const double effect = 1 - std::exp(log_ratio);
  const double lost = share.coupled * share.of_cores * effect;
  const double mixed = effect - lost + treatment.speedup * share.of_unit;
  return std::log(std::max(1 - mixed, kShortest));
}

}  // namespace causalctl::causal

#include "controller/causal/share_effect.h"

#include <algorithm>
#include <cmath>

#include "controller/causal/beside_strangers.h"

namespace causalctl::causal {
namespace {

// No period is shorter than this part of that of the baselines: noise must not make it negative.
constexpr double kShortest = 0.001;

struct Sum {
  double wall = 0;
  double visits = 0;
  CoreTotals cores;

  void add(const Experiment& experiment, const Point& point) {
    wall += static_cast<double>(experiment.wall_ns);
    visits += static_cast<double>(visits_of(experiment, point));
    cores += experiment.cores;
  }
};

// Whether strangers want the cores: the part of the time for which they would have as much as the
// busiest thread, and no core idles.
double wanted(const Sum& all) {
  const double idle = static_cast<double>(all.cores.idle_ns);
  const double theirs = all.cores.cores * all.wall - idle - static_cast<double>(all.cores.cpu_ns);
  const auto busiest = static_cast<double>(all.cores.busiest_cpu_ns);
  if (busiest <= 0) return 0;
  return std::clamp(theirs / busiest, 0.0, 1.0) * std::clamp(1 - idle / all.wall, 0.0, 1.0);
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
  const double core_time = baselines.cores.cores * baselines.wall;
  if (core_time <= 0 || baselines.visits <= 0 || !classify(all.cores).matters) return;
  const double scale = wanted(all) / core_time;
  part_ = std::min(1.0, scale * static_cast<double>(baselines.cores.coupled_cpu_ns));
  for (const auto& [name, unit] : units) {
    if (unit.visits <= 0) continue;
    // A virtual speedup changes nothing of what the code takes, but visits may be fewer.
    const double of_baselines = baselines.visits / unit.visits;
    shares_[name] = scale * of_baselines * static_cast<double>(unit.cores.coupled_unit_ns);
  }
}

double ShareEffect::with_share(const Experiment& treatment, double log_ratio) const {
  const auto found = shares_.find(treatment.unit.name);
  if (part_ <= 0 || found == shares_.end()) return log_ratio;
  const double effect = 1 - std::exp(log_ratio);
  const double mixed = (1 - part_) * effect + treatment.speedup * found->second;
  return std::log(std::max(1 - mixed, kShortest));
}

}  // namespace causalctl::causal

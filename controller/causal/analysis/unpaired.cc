#include "controller/causal/analysis/unpaired.h"

#include <vector>

#include "controller/base/unpaired_share.h"

namespace causalctl::causal {

std::optional<Unpaired> unpaired(const Run& run, const Point& point) {
  if (!point.latency) return std::nullopt;
  std::vector<BeginsAndEnds> windows;
  for (const Experiment& experiment : run.experiments) {
    for (const LatencyCount& count : experiment.latency) {
      if (count.name != point.name) continue;
      if (count.p50_ns > 0) return std::nullopt;
      windows.push_back({count.begins, count.ends});
    }
  }
  return unpaired_share(windows);
}

}  // namespace causalctl::causal

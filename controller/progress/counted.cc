#include "controller/progress/counted.h"

#include <fmt/format.h>

namespace causalctl::progress {

CountedPoints resolve_all(const config::Progress& progress, Pid target,
                          unwind::Symbolizer& symbolizer) {
  using Kind = CountedPoint::Kind;
  CountedPoints points;
  const auto add = [&](const std::string& spec, const std::string& name, Kind kind) {
    points.resolved.push_back(resolve(spec, target, symbolizer));
    points.counted.push_back({name, kind});
  };
  for (const std::string& spec : progress.throughput) add(spec, spec, Kind::throughput);
  for (const config::LatencyPoint& latency : progress.latency) {
    add(latency.begin, latency.name, Kind::begin);
    add(latency.end, latency.name, Kind::end);
  }
  return points;
}

std::vector<std::pair<std::string, std::uint32_t>> sampled_points(const CountedPoints& points) {
  std::vector<std::pair<std::string, std::uint32_t>> sampled;
  for (std::uint32_t tag = 0; tag < points.resolved.size(); ++tag) {
    if (const auto* spec = std::get_if<SampledSpec>(&points.resolved[tag].spec)) {
      sampled.emplace_back(fmt::format("{}:{}", spec->file, spec->line), tag);
    }
  }
  return sampled;
}

}  // namespace causalctl::progress

// The viewer reads line by line: the points that follow an `experiment` belong to it, and `samples`
// and `runtime` close a run. Its `duration` is our effective time, which excludes the delays (Coz's
// profiler.cpp logs end - start - delays). Source: github.com/plasma-umass/coz, viewer/.
#include "controller/causal/analysis/coz_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace causalctl::causal {
namespace {

// Replaces tabs and line feeds, which separate fields and lines in the format.
std::string field(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

std::string coz_profile(const std::vector<Run>& runs) {
  std::string text;
  auto out = std::back_inserter(text);
  for (const Run& run : runs) {
    fmt::format_to(out, "startup\ttime={}\n", run.started_ns);
    for (const Experiment& experiment : run.experiments) {
      if (!experiment.discarded.empty() || experiment.unit.name.empty()) continue;
      fmt::format_to(out, "experiment\tselected={}\tspeedup={}\tduration={}\tselected-samples={}\n",
                     field(experiment.unit.name), experiment.speedup, experiment.effective_ns,
                     experiment.samples);
      for (const ThroughputCount& point : experiment.throughput) {
        fmt::format_to(out, "throughput-point\tname={}\tdelta={}\n", field(point.name),
                       point.visits);
      }
      for (const LatencyCount& point : experiment.latency) {
        fmt::format_to(out, "latency-point\tname={}\tarrivals={}\tdepartures={}\tdifference={}\n",
                       field(point.name), point.begins, point.ends, point.in_progress_end);
      }
    }
    for (const UnitSamples& samples : run.samples) {
      fmt::format_to(out, "samples\tlocation={}\tcount={}\n", field(samples.unit.name),
                     samples.count);
    }
    fmt::format_to(out, "runtime\ttime={}\n", run.wall_ns);
  }
  return text;
}

}  // namespace causalctl::causal

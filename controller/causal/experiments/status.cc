#include "controller/causal/experiments/status.h"

#include <fmt/format.h>

#include <algorithm>

namespace causalctl::causal {

Status status_of(const Run& run, const char* phase, const Experiment* now) {
  Status status;
  status.phase = phase;
  status.experiments = run.experiments.size();
  Nanoseconds paused_ns = 0;
  Nanoseconds wall_ns = 1;
  for (const Experiment& each : run.experiments) {
    if (!each.discarded.empty()) ++status.discarded;
    // If cores pass leads on, virtual time is delayed although hardly any thread is paused.
    paused_ns += std::min(each.delay_ns, each.paid_ns);
    wall_ns += each.wall_ns;
    for (const ThroughputCount& count : each.throughput) {
      status.visits_per_s =
          1e9 * static_cast<double>(count.visits) / static_cast<double>(each.wall_ns);
    }
  }
  status.paused_share = static_cast<double>(paused_ns) / static_cast<double>(wall_ns);
  if (now != nullptr) {
    status.unit = now->unit.name;
    status.speedup = now->speedup;
  }
  return status;
}

std::string describe(const Status& status) {
  std::string text = fmt::format("{} s  {}", status.elapsed_ns / kSecond, status.phase);
  if (status.experiments > 0 || !status.unit.empty()) {
    text += fmt::format("  {} experiments", status.experiments);
  }
  if (status.discarded > 0) text += fmt::format(" ({} discarded)", status.discarded);
  if (!status.unit.empty()) {
    text += fmt::format("  {} {:.0f} %", status.unit, 100 * status.speedup);
  }
  if (status.visits_per_s > 0) text += fmt::format("  {:.1f} visits/s", status.visits_per_s);
  if (status.paused_share > 0) {
    text += fmt::format("  paused {:.1f} %", 100 * status.paused_share);
  }
  if (status.records_lost > 0) text += fmt::format("  {} records lost", status.records_lost);
  return text;
}

}  // namespace causalctl::causal

#include "controller/causal/whole_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/base/clock.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kPeriod = kMillisecond;  // nothing is calibrated: runs may be short
constexpr unsigned kStackBytes = 8192;
constexpr Nanoseconds kSymbolsPatience = 30 * kSecond;
constexpr Nanoseconds kTooLate = 50 * kMillisecond;
constexpr Nanoseconds kJitterEvery = 50 * kMillisecond;

// The program is held meanwhile: were the debug information first read when the program runs, its
// first samples would be charged to nothing.
void wait_for_symbols(const StreamParts& parts) {
  const Nanoseconds deadline_ns = parts.clock.now() + kSymbolsPatience;
  while (!parts.attribution.lines() && parts.clock.now() < deadline_ns) {
    parts.clock.sleep_until(parts.clock.now() + kMillisecond);
  }
}

struct Watched {
  Nanoseconds wall_ns = 0;    // until the end was noticed
  Nanoseconds window_ns = 0;  // after the start: from here on virtual time is counted
  Nanoseconds delay_ns = 0;   // the ledger forgets threads that have ended
  Nanoseconds worst_late_ns = 0;
};

Watched watch(Stream& stream, const StreamParts& parts, const RunHooks& hooks,
              const WholeRun& planned, Nanoseconds period_ns) {
  Watched watched;
  const Nanoseconds start_ns = parts.clock.now();
  Nanoseconds jitter_ns = start_ns;
  std::optional<UnitId> unit;
  while (parts.session.target_alive() && !stream.executed_other_program() &&
         hooks.interrupts() == 0) {
    watched.worst_late_ns = std::max(watched.worst_late_ns, stream.step().late_ns);
    if (parts.session.target_alive()) watched.delay_ns = stream.delay_ns();
    const Nanoseconds now_ns = parts.clock.now();
    if (now_ns - jitter_ns > kJitterEvery) {
      parts.session.jitter();
      jitter_ns = now_ns;
    }
    if (unit || planned.unit.empty()) continue;
    // Known from its first sample on; until then nothing could be earned, nor owed.
    unit = parts.attribution.find(planned.unit);
    if (!unit) continue;
    stream.begin(*unit, planned.speedup, period_ns);
    watched.window_ns = parts.clock.now() - start_ns;
  }
  watched.wall_ns = parts.clock.now() - start_ns;
  stream.step();  // the last records, the end among them
  return watched;
}

}  // namespace

void run_whole(const config::Config& config, const StreamParts& parts, const RunHooks& hooks,
               const std::function<void()>& start, const WholeRun& planned, Run& run) {
  const Nanoseconds period_ns = config.sampling.period_ns.value_or(kPeriod);
  run.overhead.period_ns = period_ns;
  run.overhead.pause_cost_ns = parts.shot_cost_ns;
  wait_for_symbols(parts);
  if (const auto lines = parts.attribution.lines()) {
    if (auto warning = missing_lines(*lines, config.scope.unit)) {
      run.warnings.push_back(std::move(*warning));
    }
  }
  Stream stream(parts);
  parts.session.set_stack_bytes(kStackBytes);
  parts.session.set_period(period_ns);
  parts.session.enable_sampling(true);
  parts.session.start();
  stream.begin_counting();
  start();
  const Nanoseconds cpu_start_ns = process_cpu_now();
  const Watched watched = watch(stream, parts, hooks, planned, period_ns);

  Experiment result;
  if (const auto unit = parts.attribution.find(planned.unit)) {
    result.unit = parts.attribution.unit(*unit);
  } else {
    result.unit.name = planned.unit;
  }
  result.speedup = planned.speedup;
  result.samples = stream.samples_in_unit();
  result.runnable_wait_ns = stream.core_wait_ns();
  result.lost_records = parts.session.losses().records_lost;
  const pause::PauseTotals pauses = parts.pauser.totals();
  result.asked_ns = pauses.asked_ns;
  result.paid_ns = pauses.paid_ns;
  result.pauses = pauses.pauses;
  const progress::ThroughputCount end = parts.counters.throughput().front();
  run.reason = hooks.interrupts() > 0 ? "interrupted" : "target-exited";
  if (stream.executed_other_program()) {
    result.discarded = "the program executed another one";
  } else if (end.visits != 1) {
    result.discarded = "the program did not end by itself";
  } else if (watched.worst_late_ns > kTooLate) {
    result.discarded =
        fmt::format("controller late by {} ms", watched.worst_late_ns / kMillisecond);
  } else if (result.lost_records > 0) {
    result.discarded = fmt::format("{} records lost", result.lost_records);
  }
  result.effective_ns = watched.window_ns + end.last_ns;
  result.delay_ns = watched.delay_ns;
  result.wall_ns = result.effective_ns + result.delay_ns;
  result.throughput = {{kEndToEnd, end.visits, 0, 0}};
  run.experiments.push_back(result);

  for (UnitId id = 0; id < parts.attribution.units(); ++id) {
    run.samples.push_back({parts.attribution.unit(id), parts.attribution.count(id), 0});
  }
  run.losses.records_lost = result.lost_records;
  run.losses.stacks_truncated = parts.attribution.stacks_cut_off();
  run.losses.samples_unknown = parts.attribution.unknown();
  run.losses.samples_total = parts.attribution.total();
  run.wall_ns = watched.wall_ns;
  run.overhead.controller_cpu_share = static_cast<double>(process_cpu_now() - cpu_start_ns) /
                                      static_cast<double>(std::max<Nanoseconds>(run.wall_ns, 1));
}

}  // namespace causalctl::causal

#include "controller/causal/experiments/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "controller/base/clock.h"
#include "controller/causal/analysis/model_error.h"
#include "controller/causal/analysis/pause_cost.h"
#include "controller/causal/engine/cadence.h"
#include "controller/causal/engine/sampling_limit.h"
#include "controller/causal/experiments/core_reading.h"
#include "controller/causal/experiments/death.h"
#include "controller/causal/experiments/early_findings.h"
#include "controller/causal/experiments/line_check.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kPeriod = kMillisecond;  // not calibrated, because runs may be short
constexpr Nanoseconds kSymbolsPatience = 30 * kSecond;
constexpr Nanoseconds kAnswersPatience = kSecond;
constexpr double kMostLate = 0.1;
constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max();

template <class Done>
void wait_until(Done&& done, Nanoseconds patience_ns, const EngineParts& parts,
                const RunHooks& hooks) {
  const Nanoseconds deadline_ns = parts.clock.now() + patience_ns;
  while (!done() && parts.clock.now() < deadline_ns && hooks.interrupts() == 0) {
    parts.clock.sleep_until(parts.clock.now() + kMillisecond);
  }
}

// Waits until debug information is read, while the program is suspended. Otherwise its first
// samples would be charged to no unit.
void wait_for_symbols(const EngineParts& parts, const RunHooks& hooks) {
  wait_until([&] { return parts.attribution.lines().has_value(); }, kSymbolsPatience, parts, hooks);
}

// Waits for the symbolizer's last answers. The program has ended, so this takes no core from it.
void wait_for_answers(const EngineParts& parts, const RunHooks& hooks) {
  const auto all_counted = [&] {
    parts.attribution.absorb();
    return parts.attribution.pending() == 0;
  };
  wait_until(all_counted, kAnswersPatience, parts, hooks);
}

struct Watched {
  Nanoseconds wall_ns = 0;  // time until the end was noticed
  // From the start to where virtual time is counted: without stops by a quota, and these.
  Nanoseconds window_ns = 0;
  Nanoseconds stopped_before_ns = 0;
  CoreReading cores;
};

Watched watch(Engine& engine, LineCheck& lines, const EngineParts& parts, const RunHooks& hooks,
              const PlannedExecution& planned, Nanoseconds period_ns, EarlyFindings* early) {
  Watched watched;
  const Nanoseconds start_ns = parts.clock.now();
  if (early != nullptr) early->begin(start_ns);
  std::optional<UnitId> unit;
  const auto ended = [&] {
    lines.poll();
    if (early != nullptr) early->poll();
    // The unit is known from its first sample on; until then nothing can be earned or owed.
    if (!unit && !planned.unit.empty()) {
      unit = parts.attribution.find(planned.unit);
      if (unit) {
        watched.stopped_before_ns = engine.quota_stopped_ns();
        engine.begin_experiment(*unit, planned.speedup, period_ns);
        watched.window_ns = parts.clock.now() - start_ns - watched.stopped_before_ns;
      }
    }
    return !parts.session.target_alive() || engine.executed_other_program() ||
           hooks.interrupts() > 0;
  };
  engine.run_until(ended, kForever);
  watched.wall_ns = parts.clock.now() - start_ns;
  engine.step();  // takes in the last records, with the end
  watched.cores = read_cores(engine);
  return watched;
}

Experiment experiment_of(const EngineParts& parts, const Engine& engine,
                         const PlannedExecution& planned, const Watched& watched,
                         const Overhead& overhead) {
  Experiment result;
  result.speedup = planned.speedup;
  result.samples = engine.samples_in_unit();
  std::string late;
  if (const auto unit = parts.attribution.find(planned.unit)) {
    result.unit = parts.attribution.unit(*unit);
    late = known_too_late(result.samples, parts.attribution.count(*unit));
  } else {
    result.unit.name = planned.unit;
  }
  fill_in_cores(result, {}, watched.cores);
  result.lost_records = parts.session.losses().records_lost;
  const pause::PauseTotals pauses = parts.pauser.totals();
  result.asked_ns = pauses.asked_ns;
  result.paid_ns = pauses.paid_ns;
  result.pauses = pauses.pauses;
  const progress::ThroughputCount end = parts.counters.throughput().front();
  if (engine.executed_other_program()) {
    result.discarded = "the program executed another one";
  } else if (end.visits != 1) {
    result.discarded = "the program did not end by itself";
  } else if (!late.empty()) {
    result.discarded = late;
  } else {
    result.discarded = engine.verdict(result.lost_records);
  }
  result.effective_ns = watched.window_ns + end.last_ns;
  result.delay_ns = engine.delay_at_visit_ns();
  result.wall_ns =
      result.effective_ns + result.delay_ns + watched.stopped_before_ns + engine.quota_stopped_ns();
  result.cost_error_ns = error_of_pauses(result, overhead);
  result.model_error_ns = model_error_of(result);
  result.throughput = {{kEndToEnd, end.visits, 0, 0}};
  return result;
}

}  // namespace

std::string known_too_late(std::uint64_t in_time, std::uint64_t all) {
  const std::uint64_t late = all - std::min(in_time, all);
  if (static_cast<double>(late) <= kMostLate * static_cast<double>(all)) return "";
  return fmt::format("{} of {} samples of the unit were known too late to earn anything", late,
                     all);
}

// This is systematic sampling: entries stand at equal distances on the line of all samples.
std::vector<UnitId> entries_by_share(const std::vector<UnitSamples>& samples, double offset) {
  double all = 0;
  for (const UnitSamples& unit : samples) all += static_cast<double>(unit.count);
  if (all == 0) return {};
  const double distance = all / static_cast<double>(kEntriesByShare);
  std::vector<UnitId> entries;
  double end = 0;  // where the unit ends on the line
  for (UnitId id = 0; id < samples.size(); ++id) {
    end += static_cast<double>(samples[id].count);
    while ((static_cast<double>(entries.size()) + offset) * distance < end) entries.push_back(id);
  }
  return entries;
}

void run_execution(const Settings& settings, const EngineParts& parts, const RunHooks& hooks,
                   const PlannedExecution& planned, Run& run) {
  SamplingLimit limit(parts.session, run.warnings);
  const Nanoseconds period_ns = limit.allowed(settings.sampling.period_ns.value_or(kPeriod));
  run.overhead.period_ns = period_ns;
  const PauseCost cost = settings.pause.cost_ns ? given_pause_cost(*settings.pause.cost_ns)
                                                : guessed_pause_cost(parts.shot_cost_ns);
  run.overhead.pause_cost = cost;
  wait_for_symbols(parts, hooks);
  // The start of an execution says nothing about the rest of it, and no experiment follows in it.
  Engine engine(parts, {.one_unit_of_work = true,
                        .under_quota = planned.under_quota,
                        .longest_tick_ns = kShortestTick,
                        .longest_threshold_ns = 0,
                        .threshold_ns = settings.pause.threshold_ns});
  engine.set_pause_cost(cost.cost_ns);
  LineCheck lines(parts.attribution, settings.scope, run.warnings);
  parts.attribution.look_up_at_once();
  parts.session.set_stack_bytes(kStackBytes);
  parts.session.set_period(period_ns);
  parts.session.enable_sampling(true);
  parts.session.start();
  parts.attribution.read_mappings();
  engine.begin_counting();
  if (hooks.followed) hooks.followed();
  const Nanoseconds cpu_start_ns = process_cpu_now();
  // Only the first run needs it, since all others would say the same.
  std::optional<EarlyFindings> early;
  if (planned.unit.empty()) {
    early.emplace(parts, engine, settings.scope, EarlyFindings::Visits::at_the_end);
  }
  const Watched watched =
      watch(engine, lines, parts, hooks, planned, period_ns, early ? &*early : nullptr);
  wait_for_answers(parts, hooks);

  run.reason = hooks.interrupts() > 0 ? EndReason::interrupted : EndReason::target_exited;
  run.experiments.push_back(experiment_of(parts, engine, planned, watched, run.overhead));
  run.cores = run.experiments.back().cores;
  run.throttled = engine.cores().throttled();
  if (run.reason == EndReason::target_exited && !engine.executed_other_program()) {
    run.death = death_of(parts, engine);
  }
  run.samples = parts.attribution.samples();
  run.elsewhere = parts.attribution.out_of_scope();
  if (early) {
    for (std::string& warning : early->at_the_end(run.samples)) {
      run.warnings.push_back(std::move(warning));
    }
  }
  run.wall_ns = watched.wall_ns;
  add_totals(parts, cpu_start_ns, run);
}

}  // namespace causalctl::causal

#include "controller/causal/experiments/experiment_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/causal/analysis/bearing.h"
#include "controller/causal/analysis/outlook.h"
#include "controller/causal/analysis/until_certain.h"
#include "controller/causal/engine/sampling_limit.h"
#include "controller/causal/experiments/budget.h"
#include "controller/causal/experiments/death.h"
#include "controller/causal/experiments/early_findings.h"
#include "controller/causal/experiments/experiment_run.h"
#include "controller/causal/experiments/line_check.h"
#include "controller/causal/experiments/set_up.h"
#include "controller/causal/experiments/watching.h"
#include "controller/session/write_or_end.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kSurvey = kSecond;
constexpr Nanoseconds kFixedUnitPatience = 10 * kSecond;
constexpr Nanoseconds kLongestExperiment = 30 * kSecond;
constexpr double kCallersMayDiffer = 0.01;  // share of samples up to which frame pointers will do

EngineOptions options_of(const Settings& settings) {
  EngineOptions options;
  // With longer ticks debts would grow faster than they can be paid.
  options.longest_tick_ns = settings.pause.longest_ns / 5;
  options.longest_threshold_ns =
      std::min(settings.pause.longest_ns / 2, settings.experiment.duration_ns / 5);
  options.threshold_ns = settings.pause.threshold_ns;
  return options;
}

// Returns what to name instead of a unit that gets no sample.
std::string what_runs(const Attribution& attribution) {
  const auto& path = attribution.path_unit();
  if (path && path->counts().in_callee > 0) {
    return fmt::format("{} samples fell in {}, called by: {}", path->counts().in_callee,
                       path->path().unit.function, path->callers_text());
  }
  const auto hottest = attribution.hottest(8);
  return hottest.empty()
             ? "no code in scope was executed at all; see --scope-binary"
             : fmt::format("the hottest units are:\n    {}", fmt::join(hottest, "\n    "));
}

class ExperimentLoop {
 public:
  ExperimentLoop(const Settings& settings, const EngineParts& parts, const RunHooks& hooks,
                 LogWriter& log, Run& run)
      : settings_(settings),
        parts_(parts),
        hooks_(hooks),
        log_(log),
        run_(run),
        experiment_ns_(settings.experiment.duration_ns),
        engine_(parts, options_of(settings)),
        limit_(parts.session, run.warnings),
        early_(parts_, engine_, settings.scope, EarlyFindings::Visits::throughout),
        lines_(parts.attribution, settings.scope, run.warnings),
        watching_(parts_, engine_, run) {}

  void run();

 private:
  bool stop();
  bool tick();
  void idle(Nanoseconds duration_ns);
  void survey();
  void decide_stacks();
  std::vector<UnitId> candidates();
  Experiment experiment(const PlannedExperiment& planned);
  void check_budget();
  void check_budget_since(Nanoseconds begin_ns);
  void keep_budget(const Slowdown& slowdown);
  Run so_far() const;
  void interim_analysis();
  void keep_to_limit();
  void note_mean_period();
  void count_baseline(const Experiment& done, const std::vector<std::uint64_t>& counts);
  std::vector<UnitSamples> samples() const;
  void finish();
  void show(const char* phase, const Experiment* now = nullptr);
  void show_time();

  const Settings settings_;
  EngineParts parts_;
  const RunHooks& hooks_;
  LogWriter& log_;
  Run& run_;
  Nanoseconds experiment_ns_;  // is doubled while visits are few
  Engine engine_;
  SamplingLimit limit_;
  EarlyFindings early_;
  LineCheck lines_;
  Watching watching_;
  Nanoseconds start_ns_ = 0;
  Nanoseconds cpu_start_ns_ = 0;
  // The target's CPU time, by its samples, at the end of the set-up.
  Nanoseconds cpu_set_up_ns_ = 0;
  std::uint64_t samples_set_up_ = 0;
  bool period_fell_short_ = false;  // samples stand for more than the period that was set first
  std::optional<UnitId> fixed_;
  Nanoseconds named_at_ns_ = 0;  // the time from which units can have names
  bool stacks_decided_ = false;
  bool copies_stacks_ = true;
  InterimAnalyses analyses_;
  bool outlook_told_ = false;
  Status status_;
  std::vector<std::uint64_t> baseline_counts_;  // samples in baselines, by unit
};

bool ExperimentLoop::stop() {
  if (run_.reason != EndReason::none) return true;
  if (hooks_.interrupts() > 0) {
    run_.reason = EndReason::interrupted;
  } else if (!parts_.session.target_alive() || engine_.executed_other_program()) {
    run_.reason = EndReason::target_exited;
  } else if (hooks_.first_thread_ended && hooks_.first_thread_ended()) {
    run_.reason = EndReason::first_thread_ended;
  } else if (settings_.budget.duration_ns &&
             parts_.clock.now() - start_ns_ >= *settings_.budget.duration_ns) {
    run_.reason = EndReason::duration;
  }
  return run_.reason != EndReason::none;
}

// Does what every loop that takes long must do in each round. Returns whether it should end.
bool ExperimentLoop::tick() {
  show_time();
  early_.poll();
  lines_.poll();
  return stop();
}

void ExperimentLoop::idle(Nanoseconds duration_ns) {
  engine_.run_until([this] { return tick(); }, parts_.clock.now() + duration_ns);
}

// Finds out which code runs before the first experiment, so that experiments find warm tables.
void ExperimentLoop::survey() {
  show("survey");
  parts_.session.set_stack_bytes(kStackBytes);
  parts_.session.set_period(
      std::max(limit_.shortest_ns(), settings_.sampling.period_ns.value_or(2 * kMillisecond)));
  parts_.session.enable_sampling(true);
  idle(kSurvey);
  decide_stacks();
}

// Decides whether finding the caller of code out of scope needs copied stacks. They are copied
// until enough samples tell, because a target may sleep through the survey, and reading its debug
// information may take longer. Called only between experiments.
void ExperimentLoop::decide_stacks() {
  if (parts_.attribution.path_unit()) return;  // which needs the callers of its samples
  const auto& check = parts_.attribution.caller_check();
  if (stacks_decided_ || !check.decided()) return;
  stacks_decided_ = true;
  copies_stacks_ =
      static_cast<double>(check.disagreed) > kCallersMayDiffer * static_cast<double>(check.samples);
  if (!copies_stacks_) parts_.session.set_stack_bytes(0);
  log::verbose("callers: {} samples, {} needed a caller, {} differ by frame pointer: stacks {}",
               check.samples, check.needed_caller, check.disagreed,
               copies_stacks_ ? "copied" : "off");
}

std::vector<UnitId> ExperimentLoop::candidates() {
  if (settings_.experiment.fixed_unit.empty()) {
    return {parts_.attribution.recent().begin(), parts_.attribution.recent().end()};
  }
  if (!fixed_) fixed_ = parts_.attribution.find(settings_.experiment.fixed_unit);
  // Time in which debug information is still being read does not count.
  if (!fixed_ && !parts_.attribution.lines()) named_at_ns_ = parts_.clock.now();
  if (!fixed_ && parts_.clock.now() - named_at_ns_ > kFixedUnitPatience) {
    throw UsageError(fmt::format("no sample fell in the unit {} within {} s",
                                 settings_.experiment.fixed_unit, kFixedUnitPatience / kSecond),
                     what_runs(parts_.attribution));
  }
  return fixed_ ? std::vector<UnitId>{*fixed_} : std::vector<UnitId>{};
}

Experiment ExperimentLoop::experiment(const PlannedExperiment& planned) {
  Experiment result;
  result.unit = parts_.attribution.unit(planned.unit);
  result.speedup = planned.speedup;
  show("experiments", &result);
  const auto ends_early = [this](Nanoseconds since_ns) {
    check_budget_since(since_ns);
    return tick();
  };
  const ExperimentRun run{settings_,  parts_,         engine_,  hooks_.interrupts,
                          ends_early, experiment_ns_, start_ns_};
  count_baseline(result, run.run(planned, run_.overhead, result));
  return result;
}

void ExperimentLoop::check_budget() {
  if (!settings_.budget.max_slowdown_percent) return;
  const Slowdown slowdown = slowdown_of(run_.experiments, run_.overhead.slowdown.value_or(0));
  if (slowdown.experiments > 0) keep_budget(slowdown);
}

// Checks the budget during an experiment, because that may last 30 s.
void ExperimentLoop::check_budget_since(Nanoseconds begin_ns) {
  if (!settings_.budget.max_slowdown_percent) return;
  const Nanoseconds wall_ns = parts_.clock.now() - begin_ns;
  if (wall_ns < kLongestWindow) return;
  const double by_pauses = static_cast<double>(engine_.delay_ns()) / static_cast<double>(wall_ns);
  keep_budget({by_pauses + std::max(run_.overhead.slowdown.value_or(0), 0.0), 1, wall_ns, false});
}

void ExperimentLoop::keep_budget(const Slowdown& slowdown) {
  if (100 * slowdown.share <= *settings_.budget.max_slowdown_percent) return;
  run_.reason = EndReason::budget;
  run_.warnings.push_back(over_budget(slowdown, *settings_.budget.max_slowdown_percent));
}

Run ExperimentLoop::so_far() const {
  Run run = run_;
  run.samples = samples();
  run.losses.samples_total = parts_.attribution.total();
  run.wall_ns = parts_.clock.now() - start_ns_;
  return run;
}

// Called between two experiments, when nothing is being measured.
void ExperimentLoop::interim_analysis() {
  if (stop()) return;
  if (!outlook_told_ && parts_.clock.now() - start_ns_ >= kOutlookAfter) {
    outlook_told_ = true;
    const auto outlook = outlook_of(so_far(), settings_.budget.duration_ns);
    if (outlook) log::note("warning: {}", *outlook);
  }
  if (!settings_.budget.until_certain || !analyses_.due(run_.experiments.size())) return;
  const std::string only_unit = fixed_ ? parts_.attribution.unit(*fixed_).name : "";
  if (enough(so_far(), analyses_, only_unit)) run_.reason = EndReason::certain;
}

// Keeps to the kernel's limit on sampling. Called between two experiments.
void ExperimentLoop::keep_to_limit() {
  const Nanoseconds period_ns = limit_.still_allowed(run_.overhead.period_ns, parts_.clock.now());
  if (period_ns == run_.overhead.period_ns) return;
  run_.overhead.period_ns = period_ns;
  parts_.session.set_period(period_ns);
  period_fell_short_ = true;
}

// Notes the mean period, because counts of samples are multiplied by what a sample stands for on
// average.
void ExperimentLoop::note_mean_period() {
  const std::uint64_t samples = parts_.attribution.total() - samples_set_up_;
  if ((!period_fell_short_ && run_.losses.throttles == 0) || samples == 0) return;
  run_.overhead.period_ns =
      (engine_.cpu_time_ns() - cpu_set_up_ns_) / static_cast<Nanoseconds>(samples);
}

void ExperimentLoop::show(const char* phase, const Experiment* now) {
  status_ = status_of(run_, phase, now);
  status_.records_lost = parts_.session.losses().records_lost;
  show_time();
}

void ExperimentLoop::show_time() {
  status_.elapsed_ns = parts_.clock.now() - start_ns_;
  hooks_.show(status_);
}

// Counts how often each unit was sampled while nothing was sped up, for the phase correction.
void ExperimentLoop::count_baseline(const Experiment& done,
                                    const std::vector<std::uint64_t>& counts) {
  if (done.speedup > 0 || !done.discarded.empty()) return;
  baseline_counts_.resize(counts.size());
  for (UnitId id = 0; id < counts.size(); ++id) baseline_counts_[id] += counts[id];
}

std::vector<UnitSamples> ExperimentLoop::samples() const {
  std::vector<UnitSamples> all = parts_.attribution.samples();
  for (UnitId id = 0; id < std::min(all.size(), baseline_counts_.size()); ++id) {
    all[id].baseline_count = baseline_counts_[id];
  }
  return all;
}

void ExperimentLoop::finish() {
  if (run_.reason == EndReason::target_exited && !engine_.executed_other_program()) {
    run_.death = death_of(parts_, engine_);
  }
  run_.wall_ns = parts_.clock.now() - start_ns_;
  add_totals(parts_, cpu_start_ns_, run_);
  note_mean_period();
  run_.cores = engine_.core_totals();
  run_.cores.stranger_wait_ns = std::max<Nanoseconds>(run_.cores.stranger_wait_ns, 0);
  run_.throttled = engine_.cores().throttled();
  run_.samples = samples();
  run_.elsewhere = parts_.attribution.out_of_scope();
  for (const UnitSamples& unit : run_.samples) {
    session::write_or_end(run_, [&] { log_.samples(run_, unit); });
  }
  run_.overhead.sample_to_pause_p50_ns = engine_.sample_to_pause().quantile(0.5);
  run_.overhead.sample_to_pause_p99_ns = engine_.sample_to_pause().quantile(0.99);
  for (std::string& warning : early_.at_the_end(run_.samples)) {
    run_.warnings.push_back(std::move(warning));
  }
  const auto pauses = parts_.pauser.totals();
  log::verbose("{} pauses; {} shots were void: too late for what they were fired for",
               pauses.pauses, pauses.stale);
}

void ExperimentLoop::run() {
  const Beginning beginning = beginning_of(parts_);
  start_ns_ = named_at_ns_ = beginning.at_ns;
  early_.begin(start_ns_);
  cpu_start_ns_ = process_cpu_now();
  parts_.session.start();
  parts_.attribution.read_mappings();
  if (hooks_.followed) hooks_.followed();
  survey();
  watching_.begin([this] { return tick(); });
  watching_.keep_cheap(settings_.budget.max_slowdown_percent);
  show("calibration");
  set_up(settings_, parts_, engine_, beginning, log_, run_, limit_, copies_stacks_,
         [this] { return tick(); });
  watching_.keep_cheap(settings_.budget.max_slowdown_percent);
  cpu_set_up_ns_ = engine_.cpu_time_ns();
  samples_set_up_ = parts_.attribution.total();

  Plan plan(plan_options(settings_.experiment, run_.seed));
  while (!stop()) {
    decide_stacks();
    const auto planned = plan.next(candidates());
    if (!planned) {
      idle(50 * kMillisecond);
      continue;
    }
    const Experiment done = experiment(*planned);
    // An experiment that the end of the run cut short does not count.
    if (stop() && done.wall_ns < experiment_ns_) break;
    run_.experiments.push_back(done);
    session::write_or_end(run_, [&] { log_.experiment(run_, done); });
    plan.set_baseline_share(baseline_share(run_.experiments, engine_.ledger().foreground_threads(),
                                           settings_.experiment.baseline_share));
    if (parts_.counters.fewest_visits() < settings_.experiment.min_visits) {
      experiment_ns_ = std::min(2 * experiment_ns_, kLongestExperiment);
    }
    check_budget();
    keep_to_limit();
    interim_analysis();
  }
  finish();
}

}  // namespace

void run_experiments(const Settings& settings, const EngineParts& parts, const RunHooks& hooks,
                     LogWriter& log, Run& run) {
  ExperimentLoop(settings, parts, hooks, log, run).run();
}

}  // namespace causalctl::causal

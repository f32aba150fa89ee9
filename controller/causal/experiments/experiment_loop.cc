#include "controller/causal/experiments/experiment_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/causal/analysis/model_error.h"
#include "controller/causal/analysis/outlook.h"
#include "controller/causal/analysis/pause_cost.h"
#include "controller/causal/analysis/until_certain.h"
#include "controller/causal/engine/cadence.h"
#include "controller/causal/engine/intrusion.h"
#include "controller/causal/engine/sampling_limit.h"
#include "controller/causal/engine/ticker.h"
#include "controller/causal/experiments/budget.h"
#include "controller/causal/experiments/death.h"
#include "controller/causal/experiments/early_findings.h"
#include "controller/causal/experiments/set_up.h"

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kSurvey = kSecond;
constexpr Nanoseconds kFixedUnitPatience = 10 * kSecond;
constexpr Nanoseconds kLongestPaying = 200 * kMillisecond;
constexpr Nanoseconds kLongestExperiment = 30 * kSecond;
constexpr double kWarmUpShare = 0.2;           // of the experiment, before it
constexpr std::uint64_t kCallersEnough = 100;  // samples, to decide on copied stacks
constexpr double kCallersMayDiffer = 0.01;     // of all samples: below it, frame pointers will do

class ExperimentLoop {
 public:
  ExperimentLoop(const config::Config& config, const StreamParts& parts, const RunHooks& hooks,
                 LogWriter& log, Run& run)
      : config_(config),
        parts_(parts),
        hooks_(hooks),
        log_(log),
        run_(run),
        stream_(parts),
        ticker_(parts_, stream_, config.scope, run.warnings),
        limit_(parts.session, run.warnings),
        early_(parts_, stream_, config.scope, EarlyFindings::Visits::throughout) {}

  void run();

 private:
  bool stop();
  bool tick();
  void idle(Nanoseconds duration_ns);
  void survey();
  void decide_stacks();
  std::vector<UnitId> candidates();
  Experiment experiment(const PlannedExperiment& planned);
  void warm_up(Experiment& experiment);
  void cool_off();
  void check_budget();
  void check_budget_of_window();
  void keep_budget(const Slowdown& slowdown);
  Run so_far() const;
  void interim_analysis();
  void keep_to_limit();
  void note_mean_period();
  void count_baseline(const Experiment& done, const std::vector<std::uint64_t>& counts);
  std::vector<UnitSamples> samples() const;
  void warn_of_intrusion();
  void finish();
  void show(const char* phase, const Experiment* now = nullptr);
  void show_time();

  const config::Config& config_;
  StreamParts parts_;
  const RunHooks& hooks_;
  LogWriter& log_;
  Run& run_;
  Stream stream_;
  Ticker ticker_;
  SamplingLimit limit_;
  EarlyFindings early_;
  Nanoseconds start_ns_ = 0;
  Nanoseconds cpu_start_ns_ = 0;
  Nanoseconds cpu_set_up_ns_ = 0;  // of the target, by its samples, when it was set up
  std::uint64_t samples_set_up_ = 0;
  bool period_fell_short_ = false;   // samples stand for more than the period that was set first
  Nanoseconds experiment_ns_ = 0;    // doubled where visits are few
  Nanoseconds window_begin_ns_ = 0;  // of the warm-up or window under way; 0: none
  std::optional<UnitId> fixed_;
  Nanoseconds named_at_ns_ = 0;  // since when units can have names
  bool stacks_decided_ = false;
  InterimAnalyses analyses_;
  bool outlook_told_ = false;
  Status status_;
  std::vector<std::uint64_t> baseline_counts_;  // by unit
};

bool ExperimentLoop::stop() {
  if (!run_.reason.empty()) return true;
  if (hooks_.interrupts() > 0) {
    run_.reason = "interrupted";
  } else if (!parts_.session.target_alive() || stream_.executed_other_program()) {
    run_.reason = "target-exited";
  } else if (hooks_.first_thread_ended && hooks_.first_thread_ended()) {
    run_.reason = "first-thread-ended";
  } else if (config_.budget.duration_ns &&
             parts_.clock.now() - start_ns_ >= *config_.budget.duration_ns) {
    run_.reason = "duration";
  }
  return !run_.reason.empty();
}

// In every loop that takes long.
bool ExperimentLoop::tick() {
  show_time();
  early_.poll();
  return stop();
}

void ExperimentLoop::idle(Nanoseconds duration_ns) {
  const Nanoseconds end_ns = parts_.clock.now() + duration_ns;
  while (!tick() && parts_.clock.now() < end_ns) {
    ticker_.step();
    check_budget_of_window();
  }
}

// Which code runs is found out before the first experiment, so that experiments meet warm tables.
void ExperimentLoop::survey() {
  show("survey");
  parts_.session.set_stack_bytes(kStackBytes);
  parts_.session.set_period(
      std::max(limit_.shortest_ns(), config_.sampling.period_ns.value_or(2 * kMillisecond)));
  parts_.session.enable_sampling(true);
  idle(kSurvey);
  decide_stacks();
}

// Does finding the caller of code out of scope need copied stacks? They are copied until enough
// samples tell: a target may sleep through the survey, and its debug information take longer to
// read. Between experiments only.
void ExperimentLoop::decide_stacks() {
  const auto& check = parts_.attribution.caller_check();
  if (stacks_decided_ || check.samples < kCallersEnough) return;
  stacks_decided_ = true;
  const bool stacks =
      static_cast<double>(check.disagreed) > kCallersMayDiffer * static_cast<double>(check.samples);
  if (!stacks) parts_.session.set_stack_bytes(0);
  log::verbose("callers: {} samples, {} needed a caller, {} differ by frame pointer: stacks {}",
               check.samples, check.needed_caller, check.disagreed, stacks ? "copied" : "off");
}

std::vector<UnitId> ExperimentLoop::candidates() {
  if (config_.experiment.fixed_unit.empty()) {
    return {parts_.attribution.recent().begin(), parts_.attribution.recent().end()};
  }
  if (!fixed_) fixed_ = parts_.attribution.find(config_.experiment.fixed_unit);
  // Not while debug information is still being read.
  if (!fixed_ && !parts_.attribution.lines()) named_at_ns_ = parts_.clock.now();
  if (!fixed_ && parts_.clock.now() - named_at_ns_ > kFixedUnitPatience) {
    const auto hottest = parts_.attribution.hottest(8);
    throw UsageError(fmt::format("no sample fell in the unit {} within {} s",
                                 config_.experiment.fixed_unit, kFixedUnitPatience / kSecond),
                     hottest.empty() ? "no code in scope was executed at all; see --scope-binary"
                                     : fmt::format("the hottest units are:\n    {}",
                                                   fmt::join(hottest, "\n    ")));
  }
  return fixed_ ? std::vector<UnitId>{*fixed_} : std::vector<UnitId>{};
}

Experiment ExperimentLoop::experiment(const PlannedExperiment& planned) {
  Experiment result;
  result.unit = parts_.attribution.unit(planned.unit);
  result.speedup = planned.speedup;
  ticker_.begin_experiment();
  const auto pauses_before = parts_.pauser.totals();
  const auto lost_before = parts_.session.losses().records_lost;
  stream_.begin(planned.unit, planned.speedup, run_.overhead.period_ns);
  show("experiments", &result);

  warm_up(result);
  stream_.begin_window();
  const Nanoseconds core_wait_before_ns = stream_.core_wait_ns();
  const Nanoseconds foreign_wait_before_ns = stream_.foreign_wait_ns();
  const CoreTotals cores_before = stream_.core_totals();
  const std::vector<std::uint64_t> counts_before = parts_.attribution.counts();
  const Nanoseconds begin_ns = parts_.clock.now();
  result.start_ns = begin_ns - start_ns_;
  window_begin_ns_ = begin_ns;
  idle(experiment_ns_);
  window_begin_ns_ = 0;
  stream_.stop_earning();
  const Nanoseconds paid_by_ns = parts_.clock.now() + kLongestPaying;
  while (stream_.open_debt_ns() > 0 && parts_.clock.now() < paid_by_ns && hooks_.interrupts() < 2 &&
         parts_.session.target_alive()) {
    ticker_.step();
  }
  const Nanoseconds unpaid_ns = stream_.open_debt_ns();

  result.wall_ns = parts_.clock.now() - begin_ns;
  result.delay_ns = stream_.delay_ns();
  result.effective_ns = result.wall_ns - result.delay_ns;
  result.samples = stream_.samples_in_unit();
  result.throughput = parts_.counters.throughput();
  result.latency = parts_.counters.latency(result.effective_ns);
  result.runnable_wait_ns = stream_.core_wait_ns() - core_wait_before_ns;
  result.foreign_wait_ns = std::clamp<Nanoseconds>(
      stream_.foreign_wait_ns() - foreign_wait_before_ns, 0, result.runnable_wait_ns);
  result.cores = stream_.core_totals() - cores_before;
  result.cores.stranger_wait_ns = std::max<Nanoseconds>(result.cores.stranger_wait_ns, 0);
  std::vector<std::uint64_t> counts = parts_.attribution.counts();
  for (UnitId id = 0; id < counts_before.size(); ++id) counts[id] -= counts_before[id];
  stream_.end();
  cool_off();
  // The kernel tells of a loss with the next record that finds room.
  result.lost_records = parts_.session.losses().records_lost - lost_before;
  const auto pauses = parts_.pauser.totals();
  result.asked_ns = pauses.asked_ns - pauses_before.asked_ns + unpaid_ns;
  result.paid_ns = pauses.paid_ns - pauses_before.paid_ns;
  result.pauses = pauses.pauses - pauses_before.pauses;
  result.cost_error_ns = error_of_pauses(result, run_.overhead);
  result.model_error_ns = model_error_of(result);
  ticker_.judge(result);
  count_baseline(result, counts);
  return result;
}

// A faster consumer first eats up what is in its queue: that gain is none of the steady state. By
// effective time, of which little passes until it has.
void ExperimentLoop::warm_up(Experiment& experiment) {
  const Nanoseconds begin_ns = parts_.clock.now();
  const auto effective_ns =
      static_cast<Nanoseconds>(kWarmUpShare * static_cast<double>(experiment_ns_));
  const auto passed_ns = [&] { return parts_.clock.now() - begin_ns; };
  window_begin_ns_ = begin_ns;
  while (!tick() && passed_ns() < experiment_ns_ &&
         passed_ns() - stream_.delay_ns() < effective_ns) {
    ticker_.step();
    check_budget_of_window();
  }
  window_begin_ns_ = 0;
  experiment.warm_up_ns = passed_ns();
  experiment.warm_up_delay_ns = stream_.delay_ns();
}

// Lets pauses under way end, so that none of them reaches into the next experiment.
void ExperimentLoop::cool_off() {
  const Nanoseconds end_ns = parts_.clock.now() + config_.experiment.cooloff_ns;
  const Nanoseconds patience_ns = parts_.clock.now() + config_.pause.longest_ns;
  do {
    ticker_.step();
  } while ((parts_.clock.now() < end_ns && hooks_.interrupts() == 0) ||
           (!parts_.pauser.idle() && parts_.clock.now() < patience_ns && hooks_.interrupts() < 2));
}

void ExperimentLoop::check_budget() {
  if (!config_.budget.max_slowdown_percent) return;
  const Slowdown slowdown = slowdown_of(run_.experiments, run_.overhead.slowdown.value_or(0));
  if (slowdown.experiments > 0) keep_budget(slowdown);
}

// An experiment may last 30 s: too long to be checked only when it is over.
void ExperimentLoop::check_budget_of_window() {
  if (!config_.budget.max_slowdown_percent || window_begin_ns_ == 0) return;
  const Nanoseconds wall_ns = parts_.clock.now() - window_begin_ns_;
  if (wall_ns < kLongestWindow) return;
  const double by_pauses = static_cast<double>(stream_.delay_ns()) / static_cast<double>(wall_ns);
  keep_budget({by_pauses + std::max(run_.overhead.slowdown.value_or(0), 0.0), 1, wall_ns, false});
}

void ExperimentLoop::keep_budget(const Slowdown& slowdown) {
  if (100 * slowdown.share <= *config_.budget.max_slowdown_percent) return;
  run_.reason = "budget";
  run_.warnings.push_back(over_budget(slowdown, *config_.budget.max_slowdown_percent));
}

Run ExperimentLoop::so_far() const {
  Run run = run_;
  run.samples = samples();
  run.losses.samples_total = parts_.attribution.total();
  run.wall_ns = parts_.clock.now() - start_ns_;
  return run;
}

// Between two experiments, when nothing is being measured.
void ExperimentLoop::interim_analysis() {
  if (stop()) return;
  if (!outlook_told_ && parts_.clock.now() - start_ns_ >= kOutlookAfter) {
    outlook_told_ = true;
    const auto outlook = outlook_of(so_far(), config_.budget.duration_ns);
    if (outlook) log::note("warning: {}", *outlook);
  }
  if (!config_.budget.until_certain || !analyses_.due(run_.experiments.size())) return;
  const std::string only_unit = fixed_ ? parts_.attribution.unit(*fixed_).name : "";
  if (enough(so_far(), analyses_, only_unit)) run_.reason = "certain";
}

// Between two experiments, too.
void ExperimentLoop::keep_to_limit() {
  const Nanoseconds period_ns = limit_.still_allowed(run_.overhead.period_ns, parts_.clock.now());
  if (period_ns == run_.overhead.period_ns) return;
  run_.overhead.period_ns = period_ns;
  parts_.session.set_period(period_ns);
  period_fell_short_ = true;
}

// What counts of samples are multiplied with must be what one stands for on average.
void ExperimentLoop::note_mean_period() {
  const std::uint64_t samples = parts_.attribution.total() - samples_set_up_;
  if ((!period_fell_short_ && run_.losses.throttles == 0) || samples == 0) return;
  run_.overhead.period_ns =
      (stream_.cpu_time_ns() - cpu_set_up_ns_) / static_cast<Nanoseconds>(samples);
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

// For the phase correction: how often each unit was sampled while nothing was sped up.
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

// Right after the survey, so that the user need not wait for a profile of another program.
void ExperimentLoop::warn_of_intrusion() {
  Intrusion intrusion;
  intrusion.spinning_share = stream_.check_for_spinning();
  for (std::uint32_t tag = 0; tag < parts_.counters.points().size(); ++tag) {
    const Nanoseconds taken_ns =
        static_cast<Nanoseconds>(parts_.counters.total_visits(tag)) * parts_.visit_cost_ns(tag);
    if (taken_ns <= static_cast<Nanoseconds>(intrusion.visits) * intrusion.visit_cost_ns) continue;
    intrusion.visits = parts_.counters.total_visits(tag);
    intrusion.point = parts_.counters.points()[tag].name;
    intrusion.visit_cost_ns = parts_.visit_cost_ns(tag);
    intrusion.by_breakpoint =
        tag < run_.counting.size() && run_.counting[tag].way == progress::CountedBy::breakpoint;
  }
  intrusion.target_cpu_ns = stream_.cpu_time_ns();
  intrusion.samples = parts_.attribution.total();
  intrusion.samples_near_breakpoint = stream_.samples_near_breakpoint();
  for (std::string& warning : warnings_of(intrusion)) {
    log::note("warning: {}", warning);
    run_.warnings.push_back(std::move(warning));
  }
}

void ExperimentLoop::finish() {
  if (run_.reason == "target-exited" && !stream_.executed_other_program()) {
    run_.death = death_of(parts_, stream_);
  }
  run_.wall_ns = parts_.clock.now() - start_ns_;
  add_totals(parts_, cpu_start_ns_, run_);
  note_mean_period();
  run_.cores = stream_.core_totals();
  run_.cores.stranger_wait_ns = std::max<Nanoseconds>(run_.cores.stranger_wait_ns, 0);
  run_.throttled = stream_.throttled();
  run_.samples = samples();
  for (const UnitSamples& unit : run_.samples) {
    write_or_end(run_, [&] { log_.samples(run_, unit); });
  }
  run_.overhead.sample_to_pause_p50_ns = stream_.sample_to_pause_ns(0.5);
  run_.overhead.sample_to_pause_p99_ns = stream_.sample_to_pause_ns(0.99);
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
  experiment_ns_ = config_.experiment.duration_ns;
  stream_.limit_tick(config_.pause.longest_ns / 5);  // or debts grow faster than they can be paid
  stream_.limit_threshold(std::min(config_.pause.longest_ns / 2, experiment_ns_ / 5));
  stream_.fix_threshold(config_.pause.threshold_ns);
  parts_.session.start();
  if (hooks_.followed) hooks_.followed();
  survey();
  warn_of_intrusion();
  show("calibration");
  set_up(config_, parts_, stream_, beginning, log_, run_, limit_, [this] { return tick(); });
  cpu_set_up_ns_ = stream_.cpu_time_ns();
  samples_set_up_ = parts_.attribution.total();

  Plan plan(plan_options(config_.experiment, run_.seed));
  while (!stop()) {
    decide_stacks();
    const auto planned = plan.next(candidates());
    if (!planned) {
      idle(50 * kMillisecond);
      continue;
    }
    const Experiment done = experiment(*planned);
    // One that the end cut short would be a shorter one than the others: it does not count.
    if (stop() && done.wall_ns < experiment_ns_) break;
    run_.experiments.push_back(done);
    write_or_end(run_, [&] { log_.experiment(run_, done); });
    if (parts_.counters.fewest_visits() < config_.experiment.min_visits) {
      experiment_ns_ = std::min(2 * experiment_ns_, kLongestExperiment);
    }
    check_budget();
    keep_to_limit();
    interim_analysis();
  }
  finish();
}

}  // namespace

void run_experiments(const config::Config& config, const StreamParts& parts, const RunHooks& hooks,
                     LogWriter& log, Run& run) {
  ExperimentLoop(config, parts, hooks, log, run).run();
}

}  // namespace causalctl::causal

#include "controller/causal/experiments/end_to_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "controller/base/clock.h"
#include "controller/causal/analysis/elsewhere.h"
#include "controller/causal/analysis/until_certain.h"
#include "controller/causal/experiments/plan.h"
#include "controller/causal/record/unit_names.h"
#include "controller/session/target_end.h"
#include "controller/session/write_or_end.h"

namespace causalctl::causal {
namespace {

class EndToEnd {
 public:
  EndToEnd(const config::Config& config, const EndToEndHooks& hooks, LogWriter& log, Run& run)
      : config_(config), hooks_(hooks), log_(log), run_(run) {}

  ExitCode all();

 private:
  bool stop();
  std::vector<UnitId> recent();
  Execution next(const PlannedExecution& planned);
  void take(const Execution& execution);
  Unit named(Unit unit) const;
  void learn(const Run& run, bool baseline);
  void interim_analysis();
  void show(const PlannedExecution& planned);
  void finish();

  const config::Config& config_;
  const EndToEndHooks& hooks_;
  LogWriter& log_;
  InterimAnalyses analyses_;
  Run& run_;
  std::map<std::string, std::size_t> by_identity_;  // indices into run_.samples
  Nanoseconds start_ns_ = monotonic_now();
  int expected_status_ = 0;
  bool under_quota_ = false;  // most of the first run was
  std::vector<Death> deaths_;
  std::uint64_t executions_ = 0;
  std::mt19937_64 random_;
};

bool EndToEnd::stop() {
  if (run_.reason != EndReason::none) return true;
  if (hooks_.interrupts() > 0) {
    run_.reason = EndReason::interrupted;
  } else if (config_.budget.duration_ns &&
             monotonic_now() - start_ns_ >= *config_.budget.duration_ns) {
    run_.reason = EndReason::duration;
  }
  return run_.reason != EndReason::none;
}

void EndToEnd::show(const PlannedExecution& planned) {
  Status status = status_of(run_, executions_ == 0 ? "first run" : "runs", nullptr);
  status.elapsed_ns = monotonic_now() - start_ns_;
  status.visits_per_s = 0;  // one visit a run says nothing
  const auto known = by_identity_.find(planned.unit);
  status.unit = known == by_identity_.end() ? planned.unit : run_.samples[known->second].unit.name;
  status.speedup = planned.speedup;
  hooks_.show(status);
}

Execution EndToEnd::next(const PlannedExecution& planned) {
  show(planned);
  config::Config config = config_;
  // Each run draws other sampling periods.
  if (config.experiment.seed) config.experiment.seed = *config.experiment.seed + executions_;
  // Only the first run measures it.
  std::optional<Nanoseconds> pause_cost_ns;
  if (executions_ > 0) pause_cost_ns = run_.overhead.pause_cost.cost_ns;
  Execution execution = hooks_.execute(config, planned, pause_cost_ns);
  ++executions_;
  return execution;
}

// Each run names units in the order in which it meets them, so another unit may have this name
// here.
Unit EndToEnd::named(Unit unit) const {
  const auto taken = [this](const std::string& name) {
    return std::any_of(run_.samples.begin(), run_.samples.end(),
                       [&](const UnitSamples& known) { return known.unit.name == name; });
  };
  if (taken(unit.name)) unit.name = free_name(unit, taken);
  return unit;
}

void EndToEnd::learn(const Run& run, bool baseline) {
  for (const UnitSamples& samples : run.samples) {
    const auto [known, is_new] =
        by_identity_.try_emplace(identity_of(samples.unit), run_.samples.size());
    if (is_new) run_.samples.push_back({named(samples.unit), 0, 0});
    UnitSamples& sum = run_.samples[known->second];
    sum.count += samples.count;
    sum.inherited += samples.inherited;
    sum.by_one_call += samples.by_one_call;
    if (baseline) sum.baseline_count += samples.count;
  }
  add(run_.elsewhere, run.elsewhere);
  run_.cores += run.cores;
  merge(run_.losses, run.losses);
  merge(run_.overhead, run.overhead);
  run_.stopped_calls += run.stopped_calls;
  run_.throttled = run_.throttled || run.throttled;
  for (const std::string& warning : run.warnings) {
    if (run.death && warning == session::text_of(*run.death))
      continue;  // finish() says this about all runs
    if (std::find(run_.warnings.begin(), run_.warnings.end(), warning) == run_.warnings.end()) {
      run_.warnings.push_back(warning);
    }
  }
}

std::vector<UnitId> EndToEnd::recent() {
  if (!config_.experiment.fixed_unit.empty()) return {0};  // all() knows which unit that is
  std::uniform_real_distribution<double> offset;
  return entries_by_share(run_.samples, offset(random_));
}

void EndToEnd::take(const Execution& execution) {
  Experiment done = execution.run.experiments.front();
  done.start_ns = monotonic_now() - start_ns_ - done.wall_ns;
  if (done.discarded.empty() && execution.status != expected_status_) {
    done.discarded = "the program ended otherwise than in its first run";
  }
  learn(execution.run, done.speedup == 0 && done.discarded.empty());
  if (execution.run.death) deaths_.push_back(*execution.run.death);
  const auto known = by_identity_.find(identity_of(done.unit));
  if (known != by_identity_.end()) done.unit = run_.samples[known->second].unit;
  run_.experiments.push_back(done);
  session::write_or_end(run_, [&] { log_.experiment(run_, done); });
}

void EndToEnd::interim_analysis() {
  if (!config_.budget.until_certain || stop() || !analyses_.due(run_.experiments.size())) return;
  const bool fixed = !config_.experiment.fixed_unit.empty();
  if (enough(run_, analyses_, fixed ? run_.experiments[0].unit.name : "")) {
    run_.reason = EndReason::certain;
  }
}

void EndToEnd::finish() {
  run_.wall_ns = monotonic_now() - start_ns_;
  run_.ended = true;
  run_.digest = DigestResult::unknown;  // since the processes are gone
  if (!deaths_.empty()) run_.warnings.push_back(session::text_of(deaths_, run_.experiments.size()));
  for (const UnitSamples& samples : run_.samples) {
    if (!run_.log_failure.empty()) break;
    session::write_or_end(run_, [&] { log_.samples(run_, samples); });
  }
}

// Makes all runs. The first one is no experiment: it shows which code is hot, and how the program
// ends.
ExitCode EndToEnd::all() {
  const Execution first = next({});
  if (first.code != ExitCode::ok) return first.code;
  const Experiment& shown = first.run.experiments.front();
  if (first.run.reason == EndReason::interrupted)
    throw TargetGone("ended before the first experiment was");
  if (first.run.death) {
    throw Error("--end-to-end: " + session::text_of(*first.run.death),
                "it must end by itself; run it once without causalctl to see whether it does");
  }
  if (!shown.discarded.empty() && shown.throughput.front().visits != 1) {
    throw Error(fmt::format("--end-to-end: {}", shown.discarded),
                "the process that was started must end by itself; instead of a shell script, name "
                "the program that does the work");
  }
  run_ = first.run;
  run_.reason = EndReason::none;
  run_.experiments.clear();
  run_.samples.clear();
  run_.losses = {};
  run_.cores = {};
  run_.warnings.clear();
  run_.config_json = hooks_.config_json;
  random_.seed(run_.seed);
  expected_status_ = first.status;
  under_quota_ = 2 * first.run.cores.quota_ns > shown.wall_ns;
  learn(first.run, false);
  log_.run(run_);

  Plan plan(plan_options(config_.experiment, run_.seed));
  ExitCode code = ExitCode::ok;
  while (!stop()) {
    const auto planned = plan.next(recent());
    if (!planned) {
      throw Error(
          "--end-to-end: no code in scope was sampled in the first run",
          "the run may be too short, or all of its time is spent outside of --scope-binary");
    }
    const std::string unit = config_.experiment.fixed_unit.empty()
                                 ? identity_of(run_.samples[planned->unit].unit)
                                 : config_.experiment.fixed_unit;
    const Execution execution = next({unit, planned->speedup, under_quota_});
    code = execution.code;
    if (code != ExitCode::ok || execution.run.reason == EndReason::interrupted) break;
    take(execution);
    interim_analysis();
  }
  if (run_.reason == EndReason::none) {
    run_.reason = code == ExitCode::ok ? EndReason::interrupted : EndReason::target_exited;
  }
  finish();
  return code;
}

}  // namespace

ExitCode run_end_to_end(const config::Config& config, const EndToEndHooks& hooks, LogWriter& log,
                        Run& run) {
  return EndToEnd(config, hooks, log, run).all();
}

}  // namespace causalctl::causal

// Each run of the program has a process of its own that attaches, watches and detaches as `run`
// does (profile.h). So a run finds the controller as it is at its start: guardian first, no
// threads, no real-time priority, no core chosen. What a run found comes back as an experiment log.
#include "controller/commands/end_to_end.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/causal/analysis/until_certain.h"
#include "controller/causal/experiments/execution.h"
#include "controller/causal/experiments/plan.h"
#include "controller/causal/record/log.h"
#include "controller/causal/record/unit_names.h"
#include "controller/commands/interrupts.h"
#include "controller/commands/launched.h"
#include "controller/commands/profile.h"
#include "controller/commands/status_line.h"
#include "controller/commands/target_end.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kPollEvery = 5 * kMillisecond;
constexpr Nanoseconds kEndPatience = 2 * kSecond;  // from the last event to the exit status

// A directory of our own, removed with what is in it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "causalctl-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error::from_errno("mkdtemp", errno);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string log() const { return path_ / "run.jsonl"; }
  std::string status() const { return path_ / "status"; }

 private:
  std::filesystem::path path_;
};

struct Execution {
  ExitCode code = ExitCode::ok;  // of the process that watched; it has said why
  causal::Run run;
  int status = 0;  // of the program, as wait(2) gives it
};

int status_of(tracee::Guardian& guardian) {
  constexpr int least_polls = 20;  // a machine that stalls may use up all of the time at once
  const Nanoseconds deadline_ns = monotonic_now() + kEndPatience;
  for (int polls = 0; monotonic_now() < deadline_ns || polls < least_polls; ++polls) {
    if (const auto status = guardian.exit_status()) return *status;
    sleep_until(monotonic_now() + kMillisecond);
  }
  return -1;
}

// In the process of one run. Errors leave by main(), which tells them.
void watch_once(config::Config config, const ConsoleOptions& console,
                const causal::PlannedExecution& planned, std::optional<Nanoseconds> pause_cost_ns,
                const Scratch& scratch) {
  config.progress.end_to_end = false;
  config.progress.throughput = {causal::kEndPoint};
  causal::LogWriter log(scratch.log());
  tracee::Guardian guardian;
  const Pid pid = guardian.launch(launch_of(config.target));
  Work work;
  work.pause_cost_ns = pause_cost_ns;
  work.symbolizing = symbols::Haste::ordinary;  // the program is suspended while the most is read
  work.experiments = [&](const causal::StreamParts& parts, const causal::RunHooks& hooks,
                         causal::Run& run) {
    log.run(run);
    causal::run_execution(config, parts, hooks, planned, run);
  };
  causal::Run run = watch_target(config, pid, guardian, console, work);
  if (guardian.was_killed()) {
    throw Error("the guardian process was killed; the runs were ended early",
                "look for the out-of-memory killer in the kernel's log");
  }
  causal::Experiment& experiment = run.experiments.front();
  if (run.death) {
    experiment.discarded = "the program was ended by " + name_of_signal(run.death->signal);
  }
  log.experiment(run, experiment);
  for (const causal::UnitSamples& samples : run.samples) log.samples(run, samples);
  log.end(run);
  if (run.reason == "target-exited") {
    std::ofstream(scratch.status()) << status_of(guardian);
  } else {
    end_program(pid, guardian);
  }
}

// One run of the program.
Execution execute(const config::Config& config, const ConsoleOptions& console,
                  const causal::PlannedExecution& planned,
                  std::optional<Nanoseconds> pause_cost_ns) {
  const Scratch scratch;
  const Pid controller = getpid();
  const Pid watcher = fork();
  if (watcher < 0) throw Error::from_errno("fork", errno);
  if (watcher == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != controller) _exit(static_cast<int>(ExitCode::failed));
    watch_once(config, console, planned, pause_cost_ns, scratch);
    _exit(static_cast<int>(ExitCode::ok));
  }
  std::optional<int> ended;
  int passed_on = 0;
  while (!(ended = tracee::ptrace::reap_if_ended(watcher))) {
    // From the terminal it has it already; a second one more does no harm.
    if (Interrupts::count() > passed_on) {
      passed_on = Interrupts::count();
      kill(watcher, SIGTERM);
    }
    sleep_until(monotonic_now() + kPollEvery);
  }
  Execution execution;
  execution.code =
      WIFEXITED(*ended) ? static_cast<ExitCode>(WEXITSTATUS(*ended)) : ExitCode::failed;
  if (execution.code != ExitCode::ok) return execution;
  causal::ReadLog log = causal::read_logs({scratch.log()});
  INVARIANT(log.runs.size() == 1 && log.runs[0].experiments.size() == 1);
  execution.run = std::move(log.runs[0]);
  std::ifstream(scratch.status()) >> execution.status;
  return execution;
}

class EndToEnd {
 public:
  EndToEnd(const config::Config& config, const ConsoleOptions& console)
      : config_(config), console_(console), log_(config.output.log), status_(console.quiet) {}

  ExitCode all();

 private:
  bool stop();
  std::vector<causal::UnitId> recent();
  Execution next(const causal::PlannedExecution& planned);
  void take(const Execution& execution);
  causal::Unit named(causal::Unit unit) const;
  void learn(const causal::Run& run, bool baseline);
  void interim_analysis();
  void show(const causal::PlannedExecution& planned);
  ExitCode finish(ExitCode code);

  const config::Config& config_;
  const ConsoleOptions& console_;
  causal::LogWriter log_;
  StatusLine status_;
  causal::InterimAnalyses analyses_;
  causal::Run run_;
  std::map<std::string, std::size_t> by_identity_;  // into run_.samples
  Nanoseconds start_ns_ = monotonic_now();
  int expected_status_ = 0;
  std::vector<causal::Death> deaths_;
  std::uint64_t executions_ = 0;
  std::mt19937_64 random_;
};

bool EndToEnd::stop() {
  if (!run_.reason.empty()) return true;
  if (Interrupts::count() > 0) {
    run_.reason = "interrupted";
  } else if (config_.budget.duration_ns &&
             monotonic_now() - start_ns_ >= *config_.budget.duration_ns) {
    run_.reason = "duration";
  }
  return !run_.reason.empty();
}

void EndToEnd::show(const causal::PlannedExecution& planned) {
  causal::Status status = causal::status_of(run_, executions_ == 0 ? "first run" : "runs", nullptr);
  status.elapsed_ns = monotonic_now() - start_ns_;
  status.visits_per_s = 0;  // one a run: nothing to tell
  const auto known = by_identity_.find(planned.unit);
  status.unit = known == by_identity_.end() ? planned.unit : run_.samples[known->second].unit.name;
  status.speedup = planned.speedup;
  status_.show(status);
}

Execution EndToEnd::next(const causal::PlannedExecution& planned) {
  show(planned);
  config::Config config = config_;
  // Periods of sampling are drawn anew in each run.
  if (config.experiment.seed) config.experiment.seed = *config.experiment.seed + executions_;
  // Measured in the first run only.
  std::optional<Nanoseconds> pause_cost_ns;
  if (executions_ > 0) pause_cost_ns = run_.overhead.pause_cost.cost_ns;
  Execution execution = execute(config, console_, planned, pause_cost_ns);
  status_.clear();
  ++executions_;
  return execution;
}

// Each run of the program has named what it met first, so another may have the name here.
causal::Unit EndToEnd::named(causal::Unit unit) const {
  const auto taken = [this](const std::string& name) {
    return std::any_of(run_.samples.begin(), run_.samples.end(),
                       [&](const causal::UnitSamples& known) { return known.unit.name == name; });
  };
  if (taken(unit.name)) unit.name = causal::free_name(unit, taken);
  return unit;
}

void EndToEnd::learn(const causal::Run& run, bool baseline) {
  for (const causal::UnitSamples& samples : run.samples) {
    const auto [known, is_new] =
        by_identity_.try_emplace(causal::identity_of(samples.unit), run_.samples.size());
    if (is_new) run_.samples.push_back({named(samples.unit), 0, 0});
    causal::UnitSamples& sum = run_.samples[known->second];
    sum.count += samples.count;
    sum.inherited += samples.inherited;
    if (baseline) sum.baseline_count += samples.count;
  }
  run_.losses.records_lost += run.losses.records_lost;
  run_.losses.stacks_truncated += run.losses.stacks_truncated;
  run_.losses.samples_unknown += run.losses.samples_unknown;
  run_.losses.samples_total += run.losses.samples_total;
  causal::Overhead& most = run_.overhead;
  most.controller_cpu_share =
      std::max(most.controller_cpu_share, run.overhead.controller_cpu_share);
  most.attach_stop_ns = std::max(most.attach_stop_ns, run.overhead.attach_stop_ns);
  most.pause_cost.cost_ns = std::max(most.pause_cost.cost_ns, run.overhead.pause_cost.cost_ns);
  most.pause_cost.error_ns = std::max(most.pause_cost.error_ns, run.overhead.pause_cost.error_ns);
  most.period_ns = run.overhead.period_ns;
  run_.stopped_calls += run.stopped_calls;
  run_.throttled = run_.throttled || run.throttled;
  for (const std::string& warning : run.warnings) {
    if (run.death && warning == text_of(*run.death)) continue;  // finish() tells it of all runs
    if (std::find(run_.warnings.begin(), run_.warnings.end(), warning) == run_.warnings.end()) {
      run_.warnings.push_back(warning);
    }
  }
}

std::vector<causal::UnitId> EndToEnd::recent() {
  if (!config_.experiment.fixed_unit.empty()) return {0};  // all() knows which
  std::uniform_real_distribution<double> offset;
  return causal::entries_by_share(run_.samples, offset(random_));
}

void EndToEnd::take(const Execution& execution) {
  causal::Experiment done = execution.run.experiments.front();
  done.start_ns = monotonic_now() - start_ns_ - done.wall_ns;
  if (done.discarded.empty() && execution.status != expected_status_) {
    done.discarded = "the program ended otherwise than in its first run";
  }
  learn(execution.run, done.speedup == 0 && done.discarded.empty());
  if (execution.run.death) deaths_.push_back(*execution.run.death);
  const auto known = by_identity_.find(causal::identity_of(done.unit));
  if (known != by_identity_.end()) done.unit = run_.samples[known->second].unit;
  run_.experiments.push_back(done);
  causal::write_or_end(run_, [&] { log_.experiment(run_, done); });
}

void EndToEnd::interim_analysis() {
  if (!config_.budget.until_certain || stop() || !analyses_.due(run_.experiments.size())) return;
  const bool fixed = !config_.experiment.fixed_unit.empty();
  if (causal::enough(run_, analyses_, fixed ? run_.experiments[0].unit.name : "")) {
    run_.reason = "certain";
  }
}

ExitCode EndToEnd::finish(ExitCode code) {
  run_.wall_ns = monotonic_now() - start_ns_;
  run_.ended = true;
  run_.digest = "unknown";  // the processes are gone
  if (!deaths_.empty()) run_.warnings.push_back(text_of(deaths_, run_.experiments.size()));
  for (const causal::UnitSamples& samples : run_.samples) {
    if (!run_.log_failure.empty()) break;
    causal::write_or_end(run_, [&] { log_.samples(run_, samples); });
  }
  conclude(run_, log_, config_, console_);
  if (code == ExitCode::ok) require_result(run_);
  return code;
}

// The first run shows which code is hot, and how the program ends. It is no experiment.
ExitCode EndToEnd::all() {
  const Execution first = next({});
  if (first.code != ExitCode::ok) return first.code;
  const causal::Experiment& shown = first.run.experiments.front();
  if (first.run.reason == "interrupted") throw TargetGone("ended before the first experiment was");
  if (first.run.death) {
    throw Error("--end-to-end: " + text_of(*first.run.death),
                "it must end by itself; run it once without causalctl, to see whether it does");
  }
  if (!shown.discarded.empty() && shown.throughput.front().visits != 1) {
    throw Error(fmt::format("--end-to-end: {}", shown.discarded),
                "it must end by itself, as the process that was started; a shell script does not "
                "do: name the program that does the work");
  }
  run_ = first.run;
  run_.reason.clear();
  run_.experiments.clear();
  run_.samples.clear();
  run_.losses = {};
  run_.warnings.clear();
  run_.config_json = config_json(config_);
  random_.seed(run_.seed);
  expected_status_ = first.status;
  learn(first.run, false);
  log_.run(run_);

  causal::Plan plan(causal::plan_options(config_.experiment, run_.seed));
  ExitCode code = ExitCode::ok;
  while (!stop()) {
    const auto planned = plan.next(recent());
    if (!planned) {
      throw Error("--end-to-end: no code in scope was sampled in the first run",
                  "it may be too short, or all of its time is spent outside of --scope-binary");
    }
    const std::string unit = config_.experiment.fixed_unit.empty()
                                 ? causal::identity_of(run_.samples[planned->unit].unit)
                                 : config_.experiment.fixed_unit;
    const Execution execution = next({unit, planned->speedup});
    code = execution.code;
    if (code != ExitCode::ok || execution.run.reason == "interrupted") break;
    take(execution);
    interim_analysis();
  }
  if (run_.reason.empty()) run_.reason = code == ExitCode::ok ? "interrupted" : "target-exited";
  return finish(code);
}

}  // namespace

ExitCode run_end_to_end(const config::Config& config, const ConsoleOptions& console) {
  const Interrupts interrupts;
  return EndToEnd(config, console).all();
}

}  // namespace causalctl::commands

// Each run of the program has a process of its own that attaches, watches and detaches as `run`
// does (profile.h). So each run finds the controller as it is at its start: the guardian is forked
// first, and there are no threads, no real-time priority and no chosen core. The results come back
// as an experiment log.
#include "controller/causal/experiments/end_to_end.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <optional>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/ends.h"
#include "controller/base/helper_process.h"
#include "controller/base/log.h"
#include "controller/base/scratch_folder.h"
#include "controller/base/signal_state.h"
#include "controller/commands/launched.h"
#include "controller/commands/left_behind.h"
#include "controller/commands/lost_rights.h"
#include "controller/commands/profile.h"
#include "controller/session/status_line.h"
#include "controller/session/target_end.h"

namespace causalctl::commands {
namespace {

constexpr const char* kRunLog = "run.jsonl";
constexpr Nanoseconds kPollEvery = 5 * kMillisecond;
constexpr Nanoseconds kEndPatience = 2 * kSecond;  // wait for the exit status after the last event

// Returns nullopt if it has not ended, as a program that executed another one.
std::optional<int> status_of(tracee::Guardian& guardian) {
  constexpr int least_polls = 20;  // because a stall may use up all of the time at once
  const Nanoseconds deadline_ns = monotonic_now() + kEndPatience;
  for (int polls = 0; monotonic_now() < deadline_ns || polls < least_polls; ++polls) {
    if (const auto status = guardian.exit_status()) return status;
    sleep_until(monotonic_now() + kMillisecond);
  }
  return std::nullopt;
}

// Makes the measurement of one run, and logs it.
EndReason watch(const config::Config& config, const ConsoleOptions& console,
                const causal::PlannedExecution& planned, std::optional<Nanoseconds> pause_cost_ns,
                causal::LogWriter& log, Pid pid, tracee::Guardian& guardian) {
  Work work;
  work.pause_cost_ns = pause_cost_ns;
  work.symbolizing = symbols::Haste::ordinary;  // since the program is suspended during most of it
  work.experiments = [&](const causal::EngineParts& parts, const causal::RunHooks& hooks,
                         causal::Run& run) {
    log.run(run);
    causal::run_execution(causal::settings_of(config), parts, hooks, planned, run);
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
  log.finish();
  return run.reason;
}

// Runs in the process of one run. Sends the status of the program if that has ended by itself, and
// otherwise ends it. Errors leave through main(), which prints them.
void watch_once(config::Config config, const ConsoleOptions& console,
                const causal::PlannedExecution& planned, std::optional<Nanoseconds> pause_cost_ns,
                const ScratchFolder& scratch, const Channel& to_parent) {
  begin_taking_signals();
  const Interrupts interrupts;  // so that a run that is interrupted early is told, too
  config.progress.end_to_end = false;
  config.progress.throughput = {causal::kEndPoint};
  causal::LogWriter log(scratch.file(kRunLog));
  LeftBehind left;
  tracee::Guardian guardian;
  const Pid pid = guardian.launch(launch_of(config.target));
  left.started(pid);
  const AtEnd telling = tell_to_end_at_end(pid);
  // Otherwise what one run leaves would slow the next one.
  const auto end = [&] {
    if (guardian.is_suspended() || end_program(pid, guardian)) left.end();
  };
  try {
    if (watch(config, console, planned, pause_cost_ns, log, pid, guardian) ==
        EndReason::target_exited) {
      if (const auto status = status_of(guardian)) (void)to_parent.send(*status);
    }
  } catch (...) {
    end();
    throw;
  }
  end();
}

// Makes one run of the program.
causal::Execution execute(const config::Config& config, const ConsoleOptions& console,
                          const causal::PlannedExecution& planned,
                          std::optional<Nanoseconds> pause_cost_ns) {
  const ScratchFolder scratch("the logs of runs");
  HelperProcess watcher("the process of a run", [&](Channel& parent, Pid controller) {
    end_with(controller, SIGTERM);
    watch_once(config, console, planned, pause_cost_ns, scratch, parent);
  });
  std::optional<int> ended;
  int passed_on = 0;
  while (!(ended = watcher.ended_within(kPollEvery))) {
    if (Interrupts::count() == passed_on) continue;
    // The terminal has sent this signal to the watcher, too; one more does no harm.
    passed_on = Interrupts::count();
    kill(watcher.pid(), SIGTERM);
  }
  causal::Execution execution;
  execution.code =
      WIFEXITED(*ended) ? static_cast<ExitCode>(WEXITSTATUS(*ended)) : ExitCode::failed;
  if (execution.code != ExitCode::ok) return execution;
  causal::ReadLog log = causal::read_logs({scratch.file(kRunLog)});
  INVARIANT(log.runs.size() == 1 && log.runs[0].experiments.size() == 1);
  execution.run = std::move(log.runs[0]);
  (void)watcher.channel().receive(execution.status, MSG_DONTWAIT);
  return execution;
}

}  // namespace

ExitCode run_end_to_end(const config::Config& config, const ConsoleOptions& console) {
  note_lost_rights(config.target);
  const Interrupts interrupts;
  causal::LogWriter log(config.output.log);
  session::StatusLine status(console.quiet);
  causal::EndToEndHooks hooks;
  std::optional<int> first_status;
  hooks.execute = [&](const config::Config& of_execution, const causal::PlannedExecution& planned,
                      std::optional<Nanoseconds> pause_cost_ns) {
    causal::Execution execution = execute(of_execution, console, planned, pause_cost_ns);
    if (!first_status) first_status = execution.status;  // other ends do not count
    status.clear();
    return execution;
  };
  hooks.show = [&status](const causal::Status& each) {
    if (status.due()) status.show(causal::describe(each));
  };
  hooks.interrupts = Interrupts::count;
  hooks.config_json = config_json(config);
  causal::Run run;
  const ExitCode code = causal::run_end_to_end(config, hooks, log, run);
  if (!run.ended) return code;
  conclude(run, log, config, console);
  if (code != ExitCode::ok) return code;
  require_result(run);
  tell_how_to_read_on(config);
  return told_exit_code(first_status.value_or(0));
}

}  // namespace causalctl::commands

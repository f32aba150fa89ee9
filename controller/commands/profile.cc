// Makes a causal profile, from the attach to the report. It sets up what an attached target needs
// (session/attachment.h gives the order that keeps the target safe);
// causal/experiments/experiment_loop.cc makes the experiments.
#include "controller/commands/profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/core_rotation.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/causal/analysis/run_groups.h"
#include "controller/causal/analysis/silence.h"
#include "controller/causal/engine/attribution.h"
#include "controller/causal/experiments/fixed_unit.h"
#include "controller/causal/experiments/point_codes.h"
#include "controller/commands/report.h"
#include "controller/perf/core_sampling.h"
#include "controller/perf/sample_time.h"
#include "controller/progress/naming.h"
#include "controller/session/attachment.h"
#include "controller/session/status_line.h"
#include "controller/session/target_state.h"
#include "controller/session/write_or_end.h"
#include "controller/symbols/call_chain.h"
#include "controller/symbols/perf_map.h"
#include "controller/symbols/scope.h"
#include "controller/tracee/adoption.h"
#include "controller/tracee/process.h"
#include "unwind/modules/obstacle.h"
#include "unwind/modules/target_memory.h"
#include "unwind/stack/unwinder.h"

namespace causalctl::commands {
namespace {

perf::SessionOptions session_options(const config::Sampling& sampling, std::uint64_t seed) {
  perf::SessionOptions options;
  if (sampling.period_ns) options.period_ns = *sampling.period_ns;
  options.seed = seed;
  options.peers = sampling.peers;
  options.clocks = perf::Clocks::cheaper;
  options.stack_bytes = symbols::kStackBytes;  // copied until it is known whether that is needed
  return options;
}

constexpr int kSamplesTimed = 60;

std::optional<Interval> time_of_sample(unsigned stack_bytes) {
  const perf::SessionOptions usual;
  return perf::time_of_sample(
      {.call_chain_depth = usual.call_chain_depth, .stack_bytes = stack_bytes}, kSamplesTimed);
}

// Whether the events cost hardly anything but samples: not where each thread has a clock of its own
// that is set at each of many switches.
bool cost_by_samples_only(const perf::Session& session, Pid target) {
  return session.by_core() ||
         !perf::core_sampling_pays(perf::switches_per_second({target}), kMillisecond);
}

causal::RunHooks hooks_of(session::Attachment& attachment, session::StatusLine& status) {
  return {.show =
              [&status](const causal::Status& each) {
                if (status.due()) status.show(causal::describe(each));
              },
          .interrupts = [&attachment] { return attachment.interrupts(); },
          .first_thread_ended = [&attachment] { return attachment.first_thread_ended(); },
          .followed = [&attachment] { attachment.let_go(); }};
}

}  // namespace

causal::Run watch_target(const config::Config& config, Pid target, tracee::Guardian& guardian,
                         const ConsoleOptions& console, const Work& work) {
  causal::Run run;
  if (!work.pause_cost_ns) unwind::note_obstacle(target);  // only before the program's first run
  session::Attachment attachment(target, guardian, config.progress, run);
  run.config_json = config_json(config);
  run.seed = config.experiment.seed ? *config.experiment.seed : std::random_device()();
  unwind::Symbolizer& symbolizer = attachment.symbolizer();
  causal::FixedUnit fixed =
      causal::fixed_unit(config.experiment.fixed_unit, config.scope, symbolizer);
  // Only the first run of the program says this.
  if (!work.pause_cost_ns) {
    symbols::check_scope(config.scope, symbolizer, guardian.is_suspended());
  }
  std::vector<causal::PointCode> point_codes =
      causal::codes_of(attachment.points().all(), symbolizer);
  attachment.try_facilities("causal profile");
  std::optional<Interval> sample_ns, sample_with_stack_ns;
  if (!work.pause_cost_ns) {  // later runs of the program do not choose a period
    sample_ns = time_of_sample(0);
    sample_with_stack_ns = time_of_sample(symbols::kStackBytes);
  }
  if (work.prepare) work.prepare();
  attachment.attach(session_options(config.sampling, run.seed));
  if (!cost_by_samples_only(attachment.events(), target)) {
    sample_ns = sample_with_stack_ns = std::nullopt;
  }
  const pause::PauserChoice& pauses = attachment.open_pauses({.channel = config.pause.channel,
                                                              .longest_ns = config.pause.longest_ns,
                                                              .pause_cost_ns = work.pause_cost_ns});
  run.overhead.attach_stop_ns = pauses.attach_stop_ns;

  progress::Counters counters(attachment.points().all().counted);
  // Never destroyed, because that would wait for a thread that may just be reading a large file,
  // and the report does not need it.
  causal::Attribution& attribution = *new causal::Attribution(
      std::make_unique<symbols::WithPerfMap>(
          std::make_unique<symbols::AsyncSymbolizer>(
              attachment.take_symbolizer(), symbols::wanted_by(config.scope), work.symbolizing),
          target, config.scope),
      std::make_unique<unwind::Unwinder>(target), config.scope);
  attribution.follow(target);
  if (!fixed.identity.empty()) {
    attribution.call(fixed.identity, config.experiment.fixed_unit);
  }
  if (fixed.path) attribution.call_path(std::move(*fixed.path));
  CoreRotation clock(run.seed);
  const std::vector<int> cores = tracee::usable_cores(target);
  const auto idle_ns = [&cores] {
    return idle_time(core_times_now(), cores, sysconf(_SC_CLK_TCK));
  };
  const auto read_target = [target](Address address, std::span<std::byte> bytes) {
    return unwind::read_target(target, address, bytes);
  };
  session::StatusLine status(console.quiet);
  attachment.begin_work();
  const causal::EngineParts parts{
      .clock = clock,
      .session = attachment.events(),
      .pauser = *pauses.pauser,
      .attribution = attribution,
      .counters = counters,
      .sampled_points = progress::sampled_points(attachment.points().all()),
      .shot_cost_ns = pauses.pause_cost_ns,
      .sample_ns = sample_ns,
      .sample_with_stack_ns = sample_with_stack_ns,
      .cores = static_cast<int>(cores.size()),
      .idle_ns = idle_ns,
      .armory = attachment.points().armory(),
      .read_target = read_target,
      .point_codes = std::move(point_codes),
      .target_state = [target] { return session::state_of(target); },
      .cpu_limits = [&attachment] { return attachment.cpu_limits(); },
      .other_way = [&attachment](std::uint32_t tag) { return attachment.points().other_way(tag); }};
  try {
    work.experiments(parts, hooks_of(attachment, status), run);
  } catch (...) {
    attachment.abandon();  // before we wait for the symbolizer's thread
    throw;
  }
  status.clear();
  attachment.detach();
  return run;
}

void conclude(causal::Run& run, causal::LogWriter& log, const config::Config& config,
              const ConsoleOptions& console) {
  const auto write_end = [&] {
    log.end(run);
    log.finish();
  };
  if (run.log_failure.empty()) session::write_or_end(run, write_end);
  write_report(causal::group_runs({run}), {}, {config.output.format, "", console.color});
  if (run.digest == DigestResult::changed) {
    throw Error(fmt::format("process {} is not as it was before: {}", run.pid, run.warnings.back()),
                run.left_in_target ? "" : "please report it, with the output of --verbose");
  }
  if (!run.log_failure.empty()) {
    throw Error(run.log_failure + ": the log is not complete" +
                    (run.digest == DigestResult::same ? "; the target is as before" : ""),
                "what was measured is in the report above; choose another --output");
  }
}

void require_result(const causal::Run& run) {
  if (const auto none = causal::no_result(run)) throw Error(none->what, none->hint);
}

void tell_how_to_read_on(const config::Config& config) {
  if (config.output.format != "text") return;
  log::note(
      "to read on: causalctl report {}; --fixed UNIT measures one unit alone; causalctl "
      "callpath shows who calls it",
      progress::in_shell_quotes(config.output.log));
}

ExitCode profile(const config::Config& config, Pid target, tracee::Guardian& guardian,
                 const ConsoleOptions& console) {
  std::optional<causal::LogWriter> log;
  Work work;
  work.prepare = [&] { log.emplace(config.output.log); };
  work.experiments = [&](const causal::EngineParts& parts, const causal::RunHooks& hooks,
                         causal::Run& run) {
    log->run(run);
    causal::run_experiments(causal::settings_of(config), parts, hooks, *log, run);
  };
  causal::Run run = watch_target(config, target, guardian, console, work);
  conclude(run, *log, config, console);
  if (run.reason == EndReason::target_exited && run.experiments.empty()) {
    if (!procfs::has_ended(target)) {
      throw Error(
          fmt::format("process {} executed another program before the first experiment "
                      "was over",
                      target),
          "give causalctl run the program itself, not one that executes it (env, taskset, a "
          "script; env.NAME of [target] sets variables); or attach to it when it runs");
    }
    throw TargetGone("the target ended before the first experiment did" +
                     (run.death ? ": " + session::text_of(*run.death) : ""));
  }
  if (run.reason == EndReason::first_thread_ended && run.experiments.empty()) {
    throw Error(tracee::first_thread_ended(target), tracee::kWithoutFirstThread);
  }
  if (guardian.was_killed()) {
    throw Error("something killed the guardian process (see the warnings)",
                "look for the out-of-memory killer in the kernel's log");
  }
  require_result(run);
  tell_how_to_read_on(config);
  return ExitCode::ok;
}

}  // namespace causalctl::commands

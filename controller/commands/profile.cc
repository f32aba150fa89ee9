// A causal profile, from the attach to the report. The order is what keeps the target safe:
//
//   1. everything that can be wrong with the request is found out before anything is put into the
//      target: the progress points exist, the log can be written  (watch_target, resolve_points)
//   2. perf events on all threads, progress points armed: kernel objects that die with us (Watch)
//   3. the pause channel: the only thing that is put into the target
//   4. experiments, in real-time priority where permitted: profile() has
//   causal/experiments/experiment_loop.cc
//      make them
//   5. the pause channel's events closed, then the guardian takes the stub out again, while all
//      other events are closed; then the digest of the target's state is compared with that of
//      before  (detach)
#include "controller/commands/profile.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/core_rotation.h"
#include "controller/base/cpu_limits.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/causal/analysis/run_groups.h"
#include "controller/causal/analysis/silence.h"
#include "controller/causal/engine/attribution.h"
#include "controller/causal/engine/ticker.h"
#include "controller/causal/experiments/experiment_loop.h"
#include "controller/commands/arm_points.h"
#include "controller/commands/evidence.h"
#include "controller/commands/facilities.h"
#include "controller/commands/fixed_unit.h"
#include "controller/commands/interrupts.h"
#include "controller/commands/report.h"
#include "controller/commands/status_line.h"
#include "controller/commands/target_end.h"
#include "controller/pause/pauser.h"
#include "controller/perf/session.h"
#include "controller/progress/counted.h"
#include "controller/progress/progress.h"
#include "controller/symbols/call_chain.h"
#include "controller/symbols/scope.h"
#include "controller/tracee/process.h"
#include "unwind/symbolizer.h"
#include "unwind/target_memory.h"
#include "unwind/unwinder.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kDigestPatience = kSecond;
constexpr double kUnseenTold = 0.01;  // of the run: what threads did before they were watched
constexpr const char* kGuardianKilled =
    "something killed the guardian process, so the run was ended early";

std::vector<Address> places_of(const progress::CountedPoints& points) {
  std::vector<Address> places;
  for (const progress::Point& point : points.resolved) {
    for (const unwind::Place& place : point.places) places.push_back(place.address);
  }
  return places;
}

progress::CountedPoints resolve_points(const config::Config& config, Pid target,
                                       unwind::Symbolizer& symbolizer,
                                       const tracee::Guardian& guardian) {
  try {
    return progress::resolve_all(config.progress, target, symbolizer);
  } catch (const UsageError& error) {
    if (!guardian.is_suspended()) throw;
    throw UsageError(error.what(),
                     error.hint() +
                         "; what is not loaded yet cannot be named: for a point in that "
                         "start it, then causalctl attach");
  }
}

// What turned out during the profile.
void warn_of_threads(const perf::Session& session, causal::Run& run) {
  for (const std::string& reason : session.limits().reasons) {
    if (std::find(run.warnings.begin(), run.warnings.end(), reason) == run.warnings.end()) {
      run.warnings.push_back(reason);
    }
  }
  if (const auto missed = session.losses().threads_missed; missed > 0) {
    run.warnings.push_back(fmt::format(
        "{} threads ended before they could be watched: what they did, visits too, is missing",
        missed));
  }
  // Without figures: the warnings of many runs (end to end) are told once.
  const auto unseen = static_cast<double>(session.losses().unseen_ns);
  if (unseen > kUnseenTold * static_cast<double>(run.wall_ns)) {
    run.warnings.emplace_back(
        "threads began during the run, and are watched only from a tick after their birth on: what "
        "they did until then, visits too, is missing");
  }
}

void warn_of_filter(const std::vector<Trial>& tried, causal::Run& run) {
  for (const Trial& trial : tried) {
    if (trial.facility != Facility::bpf || trial.outcome != Outcome::never_fired) continue;
    run.warnings.push_back(
        fmt::format("shots are not held back in the kernel ({}): /proc is read before each of them",
                    trial.finding));
  }
}

// A late controller falsifies experiments; the kernel gives real-time priority only to the
// privileged. Threads started later do not inherit it.
void raise_priority() {
  sched_param parameter{};
  parameter.sched_priority = 1;
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) != 0) {
    setpriority(PRIO_PROCESS, 0, -10);
  }
}

std::string host_name() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size()) != 0) return "unknown";
  name.resize(name.find('\0'));
  return name;
}

causal::Run describe_run(const config::Config& config, Pid target, unwind::Symbolizer& symbolizer) {
  std::random_device random;
  causal::Run run;
  run.id = fmt::format("{:08x}{:08x}", random(), random());
  run.host = host_name();
  run.pid = target;
  run.executable = procfs::executable(target);
  run.started_as = tracee::started_as(target);
  for (const unwind::Module& module : symbolizer.modules()) {
    if (module.main) run.build_id = module.build_id;
  }
  run.started_ns = realtime_now();
  run.config_json = config_json(config);
  run.seed = config.experiment.seed.value_or(random());
  return run;
}

perf::SessionOptions session_options(const config::Config& config, std::uint64_t seed,
                                     const tracee::Guardian& guardian,
                                     const std::vector<Trial>& tried) {
  perf::SessionOptions options;
  if (config.sampling.period_ns) options.period_ns = *config.sampling.period_ns;
  options.seed = seed;
  options.peers = config.sampling.peers;
  options.stack_bytes = symbols::kStackBytes;  // until it is known whether stacks are needed
  options.ours = {getpid(), guardian.helper()};
  options.tried = tried;
  return options;
}

// With it the kernel takes its uprobes out of the target's text, for which it needs some time.
std::jthread close_beside(std::unique_ptr<perf::Session>& session) {
  try {
    return std::jthread([&session] { session.reset(); });
  } catch (const std::system_error&) {
    session.reset();
    return {};
  }
}

void detach(std::unique_ptr<perf::Session>& session, std::unique_ptr<pause::Pauser>& pauser,
            tracee::Guardian& guardian, const tracee::Digest& before,
            const std::vector<Address>& places, causal::Run& run) {
  for (std::string& notice : pauser->notices()) run.warnings.push_back(std::move(notice));
  pauser.reset();  // closes the pause events: from here on no shot can fire
  std::jthread closing = close_beside(session);
  const auto left = guardian.restore();
  if (closing.joinable()) closing.join();
  run.left_in_target = !left.empty();
  run.stopped_calls = guardian.stopped_calls();
  const auto say_what_is_left = [&] {
    run.warnings.insert(run.warnings.end(), left.begin(), left.end());
  };
  if (run.reason == "target-exited" || procfs::has_ended(run.pid)) {
    run.digest = "unknown";
    say_what_is_left();
    return;
  }
  // Much of it passes: a thread that is being stopped by a signal, a mask while a thread is made.
  const Nanoseconds until_ns = monotonic_now() + kDigestPatience;
  auto after = guardian.digest(places);
  auto changes = tracee::differences(before, after);
  while (!changes.empty() && monotonic_now() < until_ns) {
    sleep_until(monotonic_now() + kMillisecond);
    after = guardian.digest(places);
    changes = tracee::differences(before, after);
  }
  if (procfs::has_ended(run.pid)) {
    run.digest = "unknown";
    run.warnings.emplace_back("the target ended while it was left");
    return;
  }
  for (const std::string& change : tracee::own_changes(before, after)) {
    log::verbose("the target itself has changed: {}", change);
  }
  run.digest = changes.empty() && left.empty() ? "same" : "changed";
  for (const std::string& change : changes) run.warnings.push_back("target state: " + change);
  say_what_is_left();
}

}  // namespace

causal::Run watch_target(const config::Config& config, Pid target, tracee::Guardian& guardian,
                         const ConsoleOptions& console, const Work& work) {
  const tracee::EndWatch end_watch(target);
  auto symbolizer = std::make_unique<unwind::Symbolizer>(target);
  const progress::CountedPoints points = resolve_points(config, target, *symbolizer, guardian);
  const std::string fixed = fixed_unit(config.experiment.fixed_unit, config.scope, *symbolizer);
  // Told once, not in each run of the program.
  if (!work.pause_cost_ns) symbols::check_scope(config.scope, *symbolizer, guardian.is_suspended());
  std::vector<causal::PointCode> point_codes = codes_of(points, *symbolizer);
  causal::Run run = describe_run(config, target, *symbolizer);
  const std::vector<Trial> tried = try_facilities();
  record(tried, run);
  if (work.prepare) work.prepare();
  const std::vector<Address> places = places_of(points);
  const tracee::Digest before = guardian.digest(places);

  const Interrupts interrupts;
  auto session =
      std::make_unique<perf::Session>(target, session_options(config, run.seed, guardian, tried));
  const Armory armory = arm_points(config, points, target, *session, run);

  pause::PauserOptions pauser_options;
  pauser_options.channel = config.pause.channel;
  pauser_options.longest_ns = config.pause.longest_ns;
  pauser_options.pause_cost_ns = work.pause_cost_ns;
  pause::PauserChoice choice = pause::make_pauser(target, guardian, pauser_options);
  log::verbose("a pause by {} costs its thread {} µs besides", choice.pauser->name(),
               choice.pause_cost_ns / 1000);
  run.overhead.attach_stop_ns = choice.attach_stop_ns;
  record(choice.tried, run);
  if (!choice.tried.empty()) log::verbose("tried for pauses: {}", describe(choice.tried));
  if (!choice.reason.empty()) run.warnings.push_back("pauses by ptrace: " + choice.reason);
  warn_of_filter(choice.tried, run);

  progress::Counters counters(points.counted);
  causal::Attribution attribution(
      std::make_unique<symbols::AsyncSymbolizer>(
          std::move(symbolizer), symbols::wanted_by(config.scope), work.symbolizing),
      std::make_unique<unwind::Unwinder>(target), config.scope);
  if (!fixed.empty()) attribution.call(fixed, config.experiment.fixed_unit);
  CoreRotation clock(run.seed);
  FirstThread first_thread(target);
  const std::vector<int> cores = tracee::usable_cores(target);
  CpuLimitsOf cpu_limits(target);
  StatusLine status(console.quiet);
  causal::RunHooks hooks;
  hooks.show = [&](const causal::Status& each) { status.show(each); };
  hooks.interrupts = [&] { return std::max<int>(guardian.was_killed(), Interrupts::count()); };
  hooks.first_thread_ended = [&] { return first_thread.has_ended_alone(); };
  hooks.followed = [&] {
    if (guardian.is_suspended()) guardian.release();
  };
  raise_priority();
  work.experiments(
      {clock, *session, *choice.pauser, attribution, counters, progress::sampled_points(points),
       choice.pause_cost_ns, static_cast<int>(cores.size()),
       [&cores] { return idle_time(core_times_now(), cores, sysconf(_SC_CLK_TCK)); },
       armory.breakpoints, armory.visit_costs_ns,
       [target](Address address, std::span<std::byte> bytes) {
         return unwind::TargetMemory(target).read(address, bytes);
       },
       std::move(point_codes), [target] { return state_of(target); },
       [&cpu_limits] { return cpu_limits.poll(); }},
      hooks, run);
  status.clear();
  warn_of_threads(*session, run);
  if (guardian.was_killed()) run.warnings.emplace_back(kGuardianKilled);
  if (run.reason == "first-thread-ended") run.warnings.push_back(first_thread_ended(target));
  detach(session, choice.pauser, guardian, before, places, run);
  tell_death(guardian, end_watch, run);
  run.ended = true;
  return run;
}

void conclude(causal::Run& run, causal::LogWriter& log, const config::Config& config,
              const ConsoleOptions& console) {
  if (run.log_failure.empty()) causal::write_or_end(run, [&] { log.end(run); });
  write_report(causal::group_runs({run}), {}, {config.output.format, "", console.color});
  if (run.digest == "changed") {
    throw Error(fmt::format("process {} is not as it was before: {}", run.pid, run.warnings.back()),
                run.left_in_target ? "" : "please report it, with the output of --verbose");
  }
  if (!run.log_failure.empty()) {
    throw Error(run.log_failure + ": the log is not complete" +
                    (run.digest == "same" ? "; the target is as before" : ""),
                "what was measured is in the report above; choose another --output");
  }
}

void require_result(const causal::Run& run) {
  if (const auto none = causal::no_result(run)) throw Error(none->what, none->hint);
}

ExitCode profile(const config::Config& config, Pid target, tracee::Guardian& guardian,
                 const ConsoleOptions& console) {
  std::optional<causal::LogWriter> log;
  Work work;
  work.prepare = [&] { log.emplace(config.output.log); };
  work.experiments = [&](const causal::StreamParts& parts, const causal::RunHooks& hooks,
                         causal::Run& run) {
    log->run(run);
    causal::run_experiments(config, parts, hooks, *log, run);
  };
  causal::Run run = watch_target(config, target, guardian, console, work);
  conclude(run, *log, config, console);
  if (run.reason == "target-exited" && run.experiments.empty()) {
    if (!procfs::has_ended(target)) {
      throw Error(fmt::format("process {} executed another program before the first experiment "
                              "was over",
                              target),
                  "causalctl run wants the program itself, not one that executes it (env, taskset, "
                  "a script; env.NAME of [target] sets variables); or attach to it once it runs");
    }
    throw TargetGone("the target ended before the first experiment did" +
                     (run.death ? ": " + text_of(*run.death) : ""));
  }
  if (run.reason == "first-thread-ended" && run.experiments.empty()) {
    throw Error(first_thread_ended(target));
  }
  if (guardian.was_killed()) {
    throw Error(kGuardianKilled, "look for the out-of-memory killer in the kernel's log");
  }
  require_result(run);
  return ExitCode::ok;
}

}  // namespace causalctl::commands

#include "controller/compare/side.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "config/text.h"
#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/compare/contained.h"
#include "controller/compare/kept_windows.h"
#include "controller/compare/ready.h"
#include "controller/compare/usage.h"
#include "controller/compare/window.h"

namespace causalctl::compare {
namespace {

using report::MetricKind;

constexpr Nanoseconds kStep = 5 * kMillisecond;
constexpr Nanoseconds kInFlightPatience = 2 * kSecond;
constexpr std::uint64_t kMostUnsearched = std::uint64_t{256} << 20;  // bytes of output, in memory
constexpr Nanoseconds kLongestKnown = 3;  // windows, as long as the requests of the first window

struct Interrupted {};  // thrown within this file only: any wait may be the one that is interrupted

Command command_of(const config::AbSide& side) {
  return {side.command, side.environment, side.directory, side.cpus, side.nice};
}

Command load_of(const config::AbSide& side, Side which, Pid pid) {
  Command load = {side.load, {}, {}, side.load_cpus, std::nullopt};
  load.environment["CAUSALCTL_AB_SIDE"] = std::string(1, which == Side::a ? 'a' : 'b');
  load.environment["CAUSALCTL_AB_PID"] = std::to_string(pid);
  return load;
}

class Run {
 public:
  Run(const config::Ab& ab, const config::Progress& progress, const config::AbSide& side,
      const RunOptions& options)
      : ab_(ab), progress_(progress), side_(side), options_(options) {
    deadline_ns_ = monotonic_now() + ab.time_limit_ns;
  }

  OneRun run() {
    if (is_command()) {
      if (side_.ready_port) require_free(*side_.ready_port, options_.name);
      command_ = std::make_unique<Contained>(command_of(side_), ab_.grace_ns, options_.name);
      // Until the pattern is found, nothing may be missing of what was not searched.
      if (side_.ready.empty()) command_->release_output();
    }
    pid_ = is_command() ? command_->pid() : options_.running->pid();
    if (measures_whole_run()) return whole_run();
    wait_until_ready();
    arm();
    if (!side_.load.empty()) {
      load_ = std::make_unique<Contained>(load_of(side_, options_.side, pid_), ab_.grace_ns,
                                          options_.name + ", load");
      load_->release_output();
    }
    wait(ab_.warm_up_ns, "the warm-up");
    OneRun result = measured();
    own_window_.reset();
    load_.reset();
    command_.reset();
    return result;
  }

 private:
  bool is_command() const { return !side_.command.empty(); }
  bool counts() const { return !progress_.throughput.empty() || !progress_.latency.empty(); }
  // A command begins its work after its points are armed, so that each has a window of its own.
  bool keeps_window() const { return !is_command() && !progress_.latency.empty(); }
  bool measures_whole_run() const { return !ab_.measure_ns && side_.load.empty(); }

  void arm() {
    if (!counts()) return;
    if (!keeps_window()) {
      own_window_ = std::make_unique<Window>(progress_, pid_, options_.seed);
      window_ = own_window_.get();
      return;
    }
    const bool is_new = options_.kept->would_arm(pid_);
    window_ = &options_.kept->of(progress_, pid_, options_.seed);
    // What began before is not seen until it ends.
    if (is_new && ab_.measure_ns) {
      wait(std::min(kLongestKnown * *ab_.measure_ns, kInFlightPatience),
           "the wait for what was in flight");
    }
  }

  void collect() {
    options_.kept->collect();
    if (own_window_) own_window_->collect();
  }

  enum class MayEnd { nothing, load, command };  // tells which end is waited for

  // Throws if a process has ended that should not have.
  void check(const std::string& when, MayEnd may_end) {
    collect();
    if (options_.interrupted()) throw Interrupted();
    if (command_ && may_end != MayEnd::command) {
      if (const auto ended = command_->ended()) {
        throw RunFailed(
            fmt::format("{}: it ended during {} ({}){}", options_.name, when, ended->text(),
                        command_->output_tail()),
            "it must run until it is told to end; leave out load and measure to time whole "
            "runs");
      }
    } else if (!command_ && options_.running->has_ended()) {
      throw TargetGone(fmt::format("{}: process {} ended during {}", options_.name, pid_, when));
    }
    if (command_ && pid_ != command_->pid() && procfs::has_ended(pid_)) {
      throw RunFailed(fmt::format("{}: process {}, which is measured, ended during {}{}",
                                  options_.name, pid_, when, command_->output_tail()),
                      "it must run until its command is told to end");
    }
    if (load_ && may_end != MayEnd::load && load_->ended()) {
      throw RunFailed(fmt::format("{}: the load ended during {} ({}){}", options_.name, when,
                                  load_->ended()->text(), load_->output_tail()),
                      "give it more work, or make warm_up and measure shorter");
    }
    if (monotonic_now() > deadline_ns_) {
      throw RunFailed(fmt::format("{}: {} took longer than {}{}", options_.name, when,
                                  config::duration_text(ab_.time_limit_ns),
                                  command_ ? command_->output_tail() : ""),
                      "give it more time with --time-limit");
    }
  }

  void wait(Nanoseconds length_ns, const std::string& when) {
    const Nanoseconds end_ns = monotonic_now() + length_ns;
    while (monotonic_now() < end_ns) {
      sleep_until(std::min(end_ns, monotonic_now() + (window_ ? kCollectEvery : kStep)));
      check(when, MayEnd::nothing);
    }
  }

  void wait_until_ready() {
    const std::string when = "the wait until it is ready";
    check(is_command() ? when : "the start", MayEnd::nothing);
    if (!side_.ready.empty()) wait_for_words(when);
    while (side_.ready_port && !port_is_open(*side_.ready_port)) {
      sleep_until(monotonic_now() + kStep);
      check(when, MayEnd::nothing);
    }
    if (side_.ready_delay_ns) wait(*side_.ready_delay_ns, when);
  }

  void wait_for_words(const std::string& when) {
    ReadyPattern pattern(side_.ready);
    std::uint64_t seen = 0;  // bytes of the output that were searched
    for (;;) {
      const std::string text = command_->output(seen);
      seen += text.size();
      if (const auto match = pattern.find(text)) {
        if (match->pid != 0) pid_ = family_member(match->pid);
        command_->release_output();
        return;
      }
      command_->release_output(seen);
      if (command_->stored_bytes() > kMostUnsearched) {
        throw RunFailed(options_.name + ": it writes faster than its output can be searched" +
                            command_->output_tail(),
                        "let it write less until it is ready, or wait for a port or a time "
                        "(--ready-port, --ready-delay)");
      }
      // Do not sleep after a command that writes fast.
      if (text.empty()) sleep_until(monotonic_now() + kStep);
      check(when, MayEnd::nothing);
    }
  }

  // A number in an output need not be a process of this run.
  Pid family_member(Pid pid) const {
    const auto family = command_->family();
    if (std::find(family.begin(), family.end(), pid) != family.end()) return pid;
    throw UsageError(
        fmt::format("{}: the process id {} in its output is of no process that it has started",
                    options_.name, pid),
        "the group in `ready` must match the id of the process to measure");
  }

  // What was in flight before counting began must have ended, or the latency would be too short.
  void wait_until_in_flight_is_known() {
    const Nanoseconds limit_ns = monotonic_now() + std::min(*ab_.measure_ns, kInFlightPatience);
    while (!window_->knows_in_flight() && monotonic_now() < limit_ns) {
      sleep_until(monotonic_now() + kCollectEvery);
      check("the wait for what was in flight", MayEnd::nothing);
    }
  }

  OneRun measured() {
    if (ab_.measure_ns && !progress_.latency.empty()) wait_until_in_flight_is_known();
    const Snapshot before = snapshot(pid_);
    std::uint64_t most_bytes = used_between({}, before).now_bytes;
    if (window_) window_->begin();
    const Nanoseconds start_ns = monotonic_now();
    if (ab_.measure_ns) {
      wait(*ab_.measure_ns, "the measurement");
    } else {
      wait_for_load();
    }
    const Nanoseconds wall_ns = monotonic_now() - start_ns;
    OneRun result;
    if (window_) {
      result.values = window_->end();
      result.records_lost = window_->records_lost();
      result.visits_per_s = window_->visits_per_s();
      result.counting_share = window_->counting_share();
      result.remarks = window_->remarks();
      result.unpaired = window_->unpaired();
      result.births_per_s = window_->births_per_s();
      result.counting_in_latency = window_->counting_in_latency();
    }
    const Usage usage = used_between(before, snapshot(pid_));
    if (ignores_ends_of_children(pid_)) {
      remark(result,
             "it ignores SIGCHLD. So nobody knows the CPU time of children of it that have ended, "
             "and cpu is without that");
    }
    if (!ab_.measure_ns) {
      const auto load_wall_ns = load_->ended()->wall_ns;
      // With a warm-up a part of the load is not measured.
      const auto time_ns = ab_.warm_up_ns == 0 ? load_wall_ns : wall_ns;
      result.values.push_back({{"wall", MetricKind::wall}, static_cast<double>(time_ns) / kSecond});
    }
    const double units =
        window_ && window_->units() > 0 ? static_cast<double>(window_->units()) : 1;
    // A process that ran before may have had its peak before.
    most_bytes = std::max(most_bytes, usage.now_bytes);
    add_usage(result, static_cast<double>(usage.cpu_ns) / kSecond / units,
              is_command() ? usage.peak_bytes : most_bytes,
              static_cast<double>(usage.switches) / units);
    return result;
  }

  void wait_for_load() {
    for (;;) {
      const auto ended = load_->wait_until(monotonic_now() + (window_ ? kCollectEvery : 4 * kStep));
      collect();
      if (ended) {
        if (ended->succeeded()) return;
        throw RunFailed(fmt::format("{}: the load failed ({}){}", options_.name, ended->text(),
                                    load_->output_tail()));
      }
      check("the measurement", MayEnd::load);
    }
  }

  OneRun whole_run() {
    std::optional<Ended> ended;
    while (!(ended = command_->wait_until(monotonic_now() + 4 * kStep))) {
      check("the run", MayEnd::command);
    }
    if (!ended->succeeded()) {
      throw RunFailed(fmt::format("{}: it failed ({}){}", options_.name, ended->text(),
                                  command_->output_tail()),
                      "both sides must do the work that is compared");
    }
    OneRun result;
    result.values.push_back(
        {{"wall", MetricKind::wall}, static_cast<double>(ended->wall_ns) / kSecond});
    add_usage(result, static_cast<double>(ended->cpu_ns) / kSecond, ended->peak_bytes,
              static_cast<double>(ended->switches));
    command_->end();
    if (command_->outlived() > 0) {
      remark(result,
             "it left processes behind when it ended, and causalctl ended them: what they would "
             "have done is in no figure. Let it wait for them");
    }
    command_.reset();
    return result;
  }

  void remark(OneRun& run, const char* text) const {
    run.remarks.push_back(fmt::format("side {}: {}", options_.side == Side::a ? "A" : "B", text));
  }

  static void add_usage(OneRun& run, double cpu_s, std::uint64_t peak_bytes, double switches) {
    run.values.push_back({{"cpu", MetricKind::cpu}, cpu_s});
    if (peak_bytes > 0) {
      run.values.push_back({{"memory", MetricKind::memory}, static_cast<double>(peak_bytes)});
    }
    run.values.push_back({{"context-switches", MetricKind::switches}, switches});
  }

  const config::Ab& ab_;
  const config::Progress& progress_;
  const config::AbSide& side_;
  const RunOptions& options_;
  Nanoseconds deadline_ns_ = 0;
  Pid pid_ = 0;
  // The order matters, because destruction reverses it, as run() does: points are disarmed, the
  // load ends, then the side.
  std::unique_ptr<Contained> command_;
  std::unique_ptr<Contained> load_;
  std::unique_ptr<Window> own_window_;
  Window* window_ = nullptr;  // that one, or a kept one; null if nothing is counted
};

}  // namespace

std::optional<OneRun> run_side(const config::Ab& ab, const config::Progress& progress,
                               const config::AbSide& side, const RunOptions& options) {
  try {
    return Run(ab, progress, side, options).run();
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

}  // namespace causalctl::compare

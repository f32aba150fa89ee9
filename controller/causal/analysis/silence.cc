#include "controller/causal/analysis/silence.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "controller/base/halt_text.h"
#include "controller/base/number.h"

namespace causalctl::causal {
namespace {

// A process that only waits uses less CPU time than this share of the time.
constexpr double kIdleShare = 0.001;
constexpr double kOften = 0.01;  // a function with this share of the samples or stacks does run

std::string of_function_that_runs(const Silence& silence) {
  const double own = share_of(silence.in_function, silence.samples);
  const double on_stacks = share_of(silence.on_stack, silence.stacks);
  const std::string seen = fmt::format(
      "{} {} {:.0f} % of the {}", silence.code.function, own < on_stacks ? "is on" : "has",
      std::max(1.0, 100 * std::max(own, on_stacks)), own < on_stacks ? "stacks" : "samples");
  if (silence.code.kind == PointCode::Kind::function) {
    return seen +
           ", but no visits: it was entered before the profile began and does not return; take a "
           "line in its loop";
  }
  return seen + ", but does not pass this place; take another line of it";
}

bool is_idle(Nanoseconds cpu_ns, Nanoseconds passed_ns) {
  return static_cast<double>(cpu_ns) < kIdleShare * static_cast<double>(passed_ns);
}

Nanoseconds seconds_of(Nanoseconds passed_ns) {
  return std::max<Nanoseconds>(1, passed_ns / kSecond);
}

std::string of_idle_target(const TargetState& target, std::string_view since = "") {
  return fmt::format("the target used no CPU time{}: it waits{}; give it load", since,
                     target.waits_for.empty() ? "" : " for " + target.waits_for);
}

// Returns the empty string for a target that runs.
std::string of_target_at_rest(const Silence& silence) {
  if (auto halt = text_of_halt(silence.target.stopped, silence.target.frozen); !halt.empty())
    return halt;
  return is_idle(silence.cpu_ns, silence.watched_ns) ? of_idle_target(silence.target) : "";
}

bool visited(const ThroughputCount& point) { return point.visits > 0; }
bool visited(const LatencyCount& point) { return point.ends > 0; }

std::string hint_of(EndReason reason) {
  if (reason == EndReason::interrupted)
    return "let it run for longer: the first experiment takes a while";
  if (reason == EndReason::duration) {
    return "profile for longer (--duration 60s): the survey and the calibration come first";
  }
  return "the warnings above say more";
}

NoResult without_experiment(const Run& run) {
  std::uint64_t charged = 0;
  for (const UnitSamples& samples : run.samples) charged += samples.count;
  if (run.losses.samples_total == 0) {
    return {"no result: the target used no CPU time, so nothing was sampled",
            "give it load while it is profiled; the warnings above say more"};
  }
  const bool known = 2 * run.losses.samples_unknown >= run.losses.samples_total;
  if (charged == 0 && known) {  // otherwise most samples still waited for debug information
    return {fmt::format("no result: none of {} samples fell in code in scope",
                        run.losses.samples_total),
            "the warnings above name the code that runs; --scope-binary and --scope-file choose"};
  }
  const std::string cause =
      run.reason == EndReason::interrupted ? "it was interrupted" : "it ended";
  return {fmt::format("no result: {} before the first experiment was finished", cause),
          hint_of(run.reason)};
}

}  // namespace

std::string reason_of(const Silence& silence) {
  using Kind = PointCode::Kind;
  if (std::string rest = of_target_at_rest(silence); !rest.empty()) return rest;
  if (silence.code.kind == Kind::system_call) {
    return "no thread makes this system call under the present load";
  }
  if (silence.code.kind == Kind::samples) return "no sample fell in this line";
  if (!silence.inlined_at.empty()) {
    return fmt::format("its calls are inlined, where they are not counted; take {}",
                       fmt::join(silence.inlined_at, " or "));
  }
  if (silence.code.functions.empty()) return "this code does not run under the present load";
  if (share_of(silence.in_function, silence.samples) >= kOften ||
      share_of(silence.on_stack, silence.stacks) >= kOften) {
    return of_function_that_runs(silence);
  }
  return fmt::format("{} was {} sampled either: this code does not run under the present load",
                     silence.code.function.empty() ? "its function" : silence.code.function,
                     silence.in_function + silence.on_stack == 0 ? "never" : "hardly");
}

std::string describe(const Silence& silence) {
  return fmt::format("{}: no visit in {} s; {}", silence.point, seconds_of(silence.watched_ns),
                     reason_of(silence));
}

std::optional<std::string> describe_unended(const Silence& silence) {
  std::string rest = of_target_at_rest(silence);
  if (rest.empty() && is_idle(silence.lately_cpu_ns, silence.lately_ns)) {
    rest = of_idle_target(silence.target,
                          fmt::format(" in the last {} s", seconds_of(silence.lately_ns)));
  }
  if (rest.empty()) return std::nullopt;
  return fmt::format("the program has not ended in {} s; {}", seconds_of(silence.watched_ns), rest);
}

std::optional<NoResult> no_result(const Run& run) {
  if (run.experiments.empty()) return without_experiment(run);
  bool any_counts = false;
  std::set<std::string> silent;
  for (const Experiment& experiment : run.experiments) {
    if (!experiment.discarded.empty()) continue;
    any_counts = true;
    const auto some_visited = [&](const auto& points) {
      return std::any_of(points.begin(), points.end(), [&](const auto& point) {
        if (!visited(point)) silent.insert(point.name);
        return visited(point);
      });
    };
    if (some_visited(experiment.throughput) || some_visited(experiment.latency))
      return std::nullopt;
  }
  if (!any_counts) {
    return NoResult{
        fmt::format("no result: all {} experiments were discarded", run.experiments.size()),
        "profile at a quieter time, or for longer; the log says why each one was discarded"};
  }
  return NoResult{fmt::format("no result: {} {} not visited in any experiment",
                              fmt::join(silent, ", "), silent.size() == 1 ? "was" : "were"),
                  "the warnings above say why; causalctl points PID lists what could be counted"};
}

}  // namespace causalctl::causal

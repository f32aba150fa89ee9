#include "controller/pause/pauser.h"

#include <signal.h>

#include <optional>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/pause/ptrace_channel.h"
#include "controller/pause/shot_cost.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"

namespace causalctl::pause {
namespace {

// Why the stub must not, or cannot, be used in this target; nullopt: it can.
std::optional<std::string> sigtrap_obstacle(Pid target) {
  const auto status = procfs::status(target);
  if (!status) throw TargetGone("the target ended during the attach");
  if (status->seccomp != 0) {
    return "the target is under seccomp, which may forbid the stub's system calls";
  }
  if (procfs::has_signal(status->signals_caught, SIGTRAP)) {
    return "the target handles SIGTRAP itself";
  }
  if (procfs::has_signal(status->signals_ignored, SIGTRAP)) return "the target ignores SIGTRAP";
  try {
    (void)perf::EventFd::open(perf::sigtrap_attr(0, kMillisecond), target, "pause event");
  } catch (const Error& error) {
    return std::string(error.what());
  }
  return std::nullopt;
}

}  // namespace

PauserChoice make_pauser(Pid target, target::Guardian& guardian, const PauserOptions& options) {
  PauserChoice choice;
  if (options.channel != "ptrace") {
    const auto obstacle = sigtrap_obstacle(target);
    if (!obstacle) {
      const target::Injection injection = guardian.inject(options.slot_count);
      choice.attach_stop_ns = injection.stop_ns;
      choice.pause_cost_ns = options.shot_cost_ns;
      choice.pauser = std::make_unique<SigtrapChannel>(target, guardian, injection, options);
      return choice;
    }
    if (options.channel == "sigtrap") {
      throw Error("the sigtrap pause channel cannot be used: " + *obstacle,
                  "leave the channel at \"auto\", or choose \"ptrace\"");
    }
    choice.reason = *obstacle;
  }
  choice.pause_cost_ns = measure_stop_cost(guardian);
  choice.pauser = std::make_unique<PtraceChannel>(guardian, options.longest_ns);
  return choice;
}

}  // namespace causalctl::pause

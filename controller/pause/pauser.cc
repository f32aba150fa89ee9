#include "controller/pause/pauser.h"

#include <signal.h>

#include <cerrno>
#include <optional>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/pause/blocked_trap.h"
#include "controller/pause/ptrace_channel.h"
#include "controller/pause/shot_cost.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"
#include "controller/tracee/inject/left_stub.h"

namespace causalctl::pause {
namespace {

bool under_seccomp(Pid target) {
  for (const Tid tid : procfs::threads(target)) {
    const auto status = procfs::thread_status(target, tid);
    if (status && status->seccomp != 0) return true;
  }
  return false;
}

// True if the target's own confinement may be the cause: it forbids executable memory (PR_SET_MDWE,
// SELinux), or the memory is beyond its limits. EBUSY means that the target has installed a SIGTRAP
// handler since that was checked.
bool is_forbidden(const Error& error) {
  switch (error.error_number()) {
    case EBUSY:
    case EPERM:
    case EACCES:
    case EAGAIN:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> sigtrap_obstacle(Pid target) {
  const auto status = procfs::status(target);
  if (!status) procfs::throw_unreadable(target, "status");
  if (under_seccomp(target)) {
    return "the target is under seccomp, which may forbid the stub's system calls";
  }
  if (procfs::has_signal(status->signals_caught, SIGTRAP)) {
    // Another causalctl may have injected its stub since Guardian::adopt checked for one.
    if (const auto stub = tracee::find_left_stub(target)) tracee::refuse_if_at_work(*stub, target);
    return "the target handles SIGTRAP itself";
  }
  if (procfs::has_signal(status->signals_ignored, SIGTRAP)) return "the target ignores SIGTRAP";
  try {
    (void)perf::EventFd::open(perf::sigtrap_attr(0, kMillisecond), target, "pause event");
  } catch (const Error& error) {
    return std::string(error.what());
  }
  if (!sigtrap_trial().is_seen()) return sigtrap_trial().finding;
  if (procfs::in_other_namespace(target, "time")) {
    return "the target is in another time namespace, whose clock is not ours";
  }
  return std::nullopt;
}

PauserChoice make_pauser(Pid target, tracee::Guardian& guardian, const PauserOptions& options) {
  PauserChoice choice;
  const auto use_ptrace_because = [&](const std::string& reason) {
    if (options.channel == "sigtrap") {
      throw Error("the sigtrap pause channel cannot be used: " + reason,
                  "leave the channel at \"auto\", or choose \"ptrace\"");
    }
    choice.reason = reason;
  };
  if (options.channel != "ptrace") {
    choice.tried.push_back(sigtrap_trial());
    if (const auto obstacle = sigtrap_obstacle(target)) {
      use_ptrace_because(*obstacle);
    } else {
      PauserOptions complete = options;
      if (!complete.pause_cost_ns) complete.pause_cost_ns = measure_shot_cost();
      try {
        const tracee::Injection injection = guardian.inject(options.slot_count);
        choice.attach_stop_ns = injection.stop_ns;
        choice.pause_cost_ns = *complete.pause_cost_ns;
        choice.pauser = std::make_unique<SigtrapChannel>(target, guardian, injection, complete);
        choice.tried.push_back(ShotFilter::trial());
        return choice;
      } catch (const TargetGone&) {
        throw;
      } catch (const Error& error) {
        if (!is_forbidden(error)) throw;
        use_ptrace_because(error.what());
      }
    }
  }
  choice.pause_cost_ns =
      options.pause_cost_ns ? *options.pause_cost_ns : measure_stop_cost(guardian);
  choice.pauser = std::make_unique<PtraceChannel>(guardian, options.longest_ns);
  return choice;
}

}  // namespace causalctl::pause

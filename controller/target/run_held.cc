#include "controller/target/run_held.h"

#include <fmt/format.h>
#include <sys/ptrace.h>

#include <csignal>
#include <variant>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/target/ptrace.h"
#include "controller/target/stop.h"

namespace causalctl::target {
namespace {

// Throws where nothing is to be waited for. A library may take its time.
void go_on_waiting(Pid child, Address address, Nanoseconds deadline_ns) {
  if (address == 0 && monotonic_now() > deadline_ns) {
    throw Error(fmt::format("process {} did not start its program in time", child));
  }
  const auto status = procfs::status(child);
  if (address != 0 && status && procfs::has_signal(status->signals_pending, SIGTRAP)) {
    throw Error(fmt::format("a library of process {} blocks SIGTRAP while it is loaded", child),
                "start the program by itself, then causalctl attach");
  }
}

bool stands_at(Tid tid, Address address) {
  const auto registers = ptrace::registers_if_alive(tid);
  return registers && registers->rip == address;
}

}  // namespace

void run_held(Pid child, Address address, const std::function<bool()>& controller_is_gone) {
  constexpr Nanoseconds limit_ns = 60 * kSecond;
  constexpr Nanoseconds slice_ns = 100 * kMillisecond;
  const Nanoseconds deadline_ns = monotonic_now() + limit_ns;
  auto how = ptrace::Resume::run;
  int signal = 0;
  // Held, it stands in a stop that has been waited for.
  bool stands = address != 0;
  for (;;) {
    if (stands && !ptrace::resume_if_alive(child, how, signal)) break;
    const auto stop = ptrace::wait_until(child, monotonic_now() + slice_ns);
    stands = stop.has_value();
    if (!stop) {
      if (controller_is_gone()) throw Error("causalctl has ended");
      go_on_waiting(child, address, deadline_ns);
      continue;
    }
    if (std::holds_alternative<Ended>(*stop)) break;
    if (std::holds_alternative<SyscallStop>(*stop) && how == ptrace::Resume::to_syscall) return;
    const auto* signalled = std::get_if<SignalStop>(&*stop);
    signal = signalled != nullptr ? signalled->signal : 0;
    if (signal == SIGTRAP && address != 0 && stands_at(child, address)) return;
    const auto* event = std::get_if<EventStop>(&*stop);
    if (event != nullptr && event->event == PTRACE_EVENT_EXEC) how = ptrace::Resume::to_syscall;
  }
  throw TargetGone(fmt::format("process {} ended before its first instruction", child));
}

}  // namespace causalctl::target

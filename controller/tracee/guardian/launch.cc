#include "controller/tracee/guardian/launch.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/execute.h"
#include "controller/base/signal_state.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::tracee {
namespace {

constexpr char kGo = 'x';

[[noreturn]] void become(const Launch& launch, Pid tracer, const Channel& parent) {
  SignalState::at_start().restore();
  prctl(PR_SET_PTRACER, static_cast<unsigned long>(tracer));
  char go = 0;
  if (!parent.receive(go)) _exit(127);
  execute_or_tell(
      parent, [&] { causalctl::execute(launch.command, launch.environment, launch.directory); });
}

HelperProcess fork_child(const Launch& launch, Pid tracer) {
  if (launch.command.empty()) throw UsageError("no command to run");
  return {"the program", [&](Channel& parent, Pid) { become(launch, tracer, parent); }};
}

}  // namespace

LaunchedChild::LaunchedChild(const Launch& launch, Pid tracer)
    : child_(fork_child(launch, tracer)) {}

void LaunchedChild::execute() {
  if (!child_.channel().send(kGo)) {
    const int error = errno;
    child_.channel().close();  // it ends
    throw Error::from_errno(
        fmt::format("send to process {}, which waits to execute the program", child_.pid()), error);
  }
  SentError failure;
  if (child_.channel().receive(failure)) failure.rethrow();
}

void kill_and_reap(Pid child) {
  kill(child, SIGKILL);
  const Nanoseconds deadline_ns = monotonic_now() + kSecond;
  while (!ptrace::reap_if_ended(child) && monotonic_now() < deadline_ns) {
    sleep_until(monotonic_now() + kMillisecond);
  }
}

}  // namespace causalctl::tracee

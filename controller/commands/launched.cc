#include "controller/commands/launched.h"

#include <signal.h>

#include <optional>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"

namespace causalctl::commands {
namespace {

constexpr Nanoseconds kPatience = 5 * kSecond;  // from SIGTERM to leaving the program alone

}  // namespace

target::Launch launch_of(const config::Target& target) {
  return {target.command, target.environment, target.directory};
}

void load_libraries(Pid pid, target::Guardian& guardian) {
  const Address entry = procfs::entry_point(pid);
  std::optional<perf::EventFd> trap;
  try {
    const auto status = procfs::status(pid);
    if (!status || entry == 0) throw Error("its auxiliary vector cannot be read");
    // A trap that is blocked stops nothing.
    if (procfs::has_signal(status->signals_blocked, SIGTRAP)) throw Error("it blocks SIGTRAP");
    trap = perf::EventFd::open(perf::sigtrap_breakpoint_attr(entry), pid,
                               "breakpoint at the program's entry point");
  } catch (const Error& error) {
    log::note(
        "the program is not stopped at its entry point, so that nothing in its libraries is known "
        "yet: {}",
        error.what());
  }
  if (!trap) return;
  trap->refresh(1);
  guardian.run_to(entry);
}

void end_program(Pid pid, target::Guardian& guardian) {
  if (guardian.exit_status()) return;
  kill(pid, SIGTERM);
  const Nanoseconds deadline_ns = monotonic_now() + kPatience;
  while (monotonic_now() < deadline_ns) {
    if (guardian.exit_status()) return;
    sleep_until(monotonic_now() + 10 * kMillisecond);
  }
  log::note("the program (pid {}) has not ended after SIGTERM; it goes on without us", pid);
}

}  // namespace causalctl::commands

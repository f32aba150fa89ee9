#include "controller/commands/launched.h"

#include <signal.h>

#include "controller/base/clock.h"
#include "controller/base/log.h"

namespace causalctl::commands {
namespace {

// After SIGTERM a program that does not end is left alone after this time.
constexpr Nanoseconds kPatience = 5 * kSecond;

}  // namespace

tracee::Launch launch_of(const config::Target& target) {
  return {target.command, target.environment, target.directory};
}

void load_libraries(tracee::Guardian& guardian) {
  const auto obstacle = guardian.run_to_entry();
  if (!obstacle) return;
  log::note(
      "the program was not suspended at its entry point, so nothing in its libraries is known yet: "
      "{}",
      *obstacle);
}

void end_program(Pid pid, tracee::Guardian& guardian) {
  if (guardian.exit_status()) return;
  kill(pid, SIGTERM);
  const Nanoseconds deadline_ns = monotonic_now() + kPatience;
  while (monotonic_now() < deadline_ns) {
    if (guardian.exit_status()) return;
    sleep_until(monotonic_now() + 10 * kMillisecond);
  }
  log::note("the program (pid {}) has not ended after SIGTERM; it goes on without causalctl", pid);
}

ExitCode with_program(const config::Target& target,
                      const std::function<ExitCode(Pid, tracee::Guardian&)>& work) {
  tracee::Guardian guardian;
  const Pid pid = guardian.launch(launch_of(target));
  try {
    const ExitCode code = work(pid, guardian);
    end_program(pid, guardian);
    return code;
  } catch (...) {
    if (!guardian.is_suspended()) end_program(pid, guardian);
    throw;
  }
}

}  // namespace causalctl::commands

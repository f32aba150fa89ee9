#include "controller/pause/blocked_trap.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/perf/attrs.h"
#include "controller/perf/event.h"

namespace causalctl::pause {
namespace {

// By default SIGTRAP ends a process, and leaves a core: at a limit of 1 byte neither a file nor, as
// at 0, a report by the program that core_pattern(5) names.
[[noreturn]] void be_shot() {
  constexpr Nanoseconds enough_ns = 100 * kMillisecond;
  constexpr int some_user_code = 100'000;  // in system calls the shot does not fire
  const rlimit no_core{1, 1};
  setrlimit(RLIMIT_CORE, &no_core);
  sigset_t trap{};
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  sigprocmask(SIG_BLOCK, &trap, nullptr);
  try {
    const auto shot = perf::EventFd::open(perf::sigtrap_attr(0, kShotPeriod), 0, "pause event");
    if (!shot) _exit(1);
    shot->refresh(1);
    const Nanoseconds until_ns = process_cpu_now() + enough_ns;
    do {
      for (int i = 0; i < some_user_code; ++i) asm volatile("" ::: "memory");
      sigset_t pending{};
      sigpending(&pending);
      if (sigismember(&pending, SIGTRAP) == 1) _exit(0);
    } while (process_cpu_now() < until_ns);
  } catch (const Error&) {
    _exit(1);
  }
  _exit(1);
}

std::optional<std::string> try_once() {
  const Pid child = fork();
  if (child < 0) return "what this kernel does with a blocked SIGTRAP could not be tried: fork";
  if (child == 0) be_shot();
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return "what this kernel does with a blocked SIGTRAP is not known: waitpid";
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (WIFSIGNALED(status)) {
    return "this kernel ends a process that is shot while a thread blocks SIGTRAP (Linux 5.19 "
           "leaves it pending)";
  }
  return "what this kernel does with a blocked SIGTRAP could not be tried";
}

}  // namespace

std::optional<std::string> blocked_trap_problem() {
  static const std::optional<std::string> problem = try_once();
  return problem;
}

}  // namespace causalctl::pause

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

// A SIGTRAP with its default action ends the process and leaves a core. With a core limit of 0 the
// program that core_pattern(5) names would still get it; with 1 byte there is no core at all.
[[noreturn]] void be_shot() {
  constexpr Nanoseconds enough_ns = 100 * kMillisecond;
  // It must be user code: in system calls the shot does not fire.
  constexpr int some_user_code = 100'000;
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

Trial result(Outcome outcome, const char* finding) {
  return {Facility::sigtrap, outcome, finding, "", 0};
}

Trial nothing_came() {
  return result(Outcome::never_fired, "an event was opened on ourselves, but no SIGTRAP came");
}

Trial shoot_child() {
  const Pid child = fork();
  if (child == 0) be_shot();
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return result(Outcome::refused, "a try on a child of ours failed: waitpid");
  }
  if (child < 0) return result(Outcome::refused, "a try on a child of ours failed: fork");
  if (WIFSIGNALED(status)) {
    return result(Outcome::refused,
                  "this kernel ends a process that is shot while a thread blocks SIGTRAP (Linux "
                  "5.19 leaves it pending)");
  }
  if (WEXITSTATUS(status) != 0) return nothing_came();
  return result(Outcome::seen, "its SIGTRAP came to a child of ours, which had blocked it");
}

}  // namespace

Trial try_sigtrap() {
  constexpr int tries = 3;
  try {
    (void)perf::EventFd::open(perf::sigtrap_attr(0, kShotPeriod), 0, "pause event");
  } catch (const Error& error) {
    return refused(Facility::sigtrap, error);
  }
  Trial trial = shoot_child();
  for (int i = 1; i < tries && trial.outcome == Outcome::never_fired; ++i) trial = shoot_child();
  return is_pretended_broken(Facility::sigtrap) ? nothing_came() : trial;
}

const Trial& sigtrap_trial() {
  static const Trial trial = try_sigtrap();
  return trial;
}

}  // namespace causalctl::pause

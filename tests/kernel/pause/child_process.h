// A process to be paused, which is a fork of the test.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/pause/sigtrap_channel.h"

namespace causalctl::pause::test {

inline constexpr Nanoseconds kDebt = 5 * kMillisecond;
inline constexpr Nanoseconds kPatience = 5 * kSecond;

[[noreturn]] inline void stay_busy() {
  for (volatile bool busy = true; busy;) {
  }
  _exit(0);
}

inline void wait_for_sigusr1() {
  static std::atomic<bool> came;
  std::signal(SIGUSR1, [](int) { came = true; });
  while (!came) {
  }
}

class ChildProcess {
 public:
  explicit ChildProcess(void (*run)() = stay_busy) : pid_(fork()) {
    if (pid_ < 0) throw Error("fork");
    if (pid_ == 0) run();
  }
  ~ChildProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Pid pid() const { return pid_; }
  bool alive() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  Pid pid_;
};

// Does what samples would do for a channel without a filter: tells on which stack a thread is.
inline void see_on_own_stack(SigtrapChannel& channel, Pid target) {
  constexpr int plenty = 100;
  const auto stack = own_stack(target, target, 0);
  if (!stack) throw Error("the child has no stack");
  for (int i = 0; i < plenty; ++i) channel.sampled(target, stack->high - 1);
}

// Makes the thread stand in a pause of kStanding. Returns false if it does not within our patience.
inline constexpr Nanoseconds kStanding = 400 * kMillisecond;

inline bool stand(SigtrapChannel& channel, Pid target) {
  const Nanoseconds deadline_ns = monotonic_now() + kPatience;
  while (monotonic_now() < deadline_ns) {
    if (!channel.pausing(target)) {
      channel.set_debt(target, kStanding, monotonic_now());
    }
    sleep_until(monotonic_now() + kMillisecond);
    (void)channel.collect(monotonic_now());
    if (channel.standing(target)) return true;
  }
  return false;
}

}  // namespace causalctl::pause::test

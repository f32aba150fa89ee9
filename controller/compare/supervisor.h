// The supervisor's side of contained.h: a forked process, and the messages that it sends.
#pragma once

#include <cstdint>
#include <functional>

#include "controller/base/types.h"
#include "controller/compare/contained.h"

namespace causalctl::compare {

// Supervisor → us, one packet each, in this order: started or failed; ended, once; gone, last.
struct SupervisorMessage {
  enum class Kind : std::uint8_t { started, failed, ended, gone };
  enum class Step : std::uint8_t { none, fork, directory, affinity, nice, execute };
  Kind kind = Kind::started;
  Pid pid = 0;  // started
  Step failed_step = Step::none;
  int error_number = 0;  // failed
  Ended ended;           // ended
  unsigned left = 0;     // gone: processes that could not be ended
};

// To be called in a forked child without other threads; keeps nothing open but these two. Never
// returns. One byte from the socket, or its end, means: end everything.
[[noreturn]] void run_supervisor(const Command& command, Nanoseconds grace_ns, int socket,
                                 int output);

// Called with the id and the status, as wait(2) gives it, of a child that was reaped.
using Reaped = std::function<void(Pid, int)>;

// A process in the kernel's hands dies late.
inline constexpr Nanoseconds kKillPatience = 10 * kSecond;

// SIGKILL to everything below the calling process until it has no child; returns how many are left
// after kKillPatience.
unsigned kill_descendants(const Reaped& reaped = {});

}  // namespace causalctl::compare

// The supervisor's side of contained.h: a forked process, and the messages that it sends.
#pragma once

#include <cstdint>
#include <functional>

#include "controller/base/helper_process.h"
#include "controller/base/types.h"
#include "controller/compare/contained.h"

namespace causalctl::compare {

// The supervisor sends, in this order: started or failed; ended, once; gone, last.
struct SupervisorMessage {
  enum class Kind : std::uint8_t { started, failed, ended, gone };
  Kind kind = Kind::started;
  Pid pid = 0;      // of started
  SentError error;  // of failed
  Ended ended;      // of ended
  // Of gone: processes that ran on when the command had ended, and those that could not be ended.
  unsigned outlived = 0;
  unsigned left = 0;
};

// Supervises the command until nothing of it runs any more. For a helper process, which keeps
// nothing open but the channel and `output`. A message from the channel, or its end, means: end
// everything.
void run_supervisor(const Command& command, Nanoseconds grace_ns, const Channel& channel,
                    int output);

// Called with the id and the status, as wait(2) gives it, of a child that was reaped.
using Reaped = std::function<void(Pid, int)>;

// A process that is stuck in the kernel dies late.
inline constexpr Nanoseconds kKillPatience = 10 * kSecond;

// Sends SIGKILL to everything below the calling process until it has no child. Returns how many are
// left after kKillPatience.
unsigned kill_descendants(const Reaped& reaped = {});

}  // namespace causalctl::compare

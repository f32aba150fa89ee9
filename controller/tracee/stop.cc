#include "controller/tracee/stop.h"

#include <sys/wait.h>

#include <csignal>

namespace causalctl::tracee {

Stop decode_stop(int wait_status) {
  if (!WIFSTOPPED(wait_status)) return Ended{};
  const int signal = WSTOPSIG(wait_status);
  const int event = wait_status >> 16;
  if (event != 0) return EventStop{event, signal};
  if (signal == (SIGTRAP | 0x80)) return SyscallStop{};
  return SignalStop{signal};
}

}  // namespace causalctl::tracee

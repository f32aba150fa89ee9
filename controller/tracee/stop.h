// What a tracer learns from a wait status (ptrace(2), "Stopped tracees"), as a variant. Pure.
#pragma once

#include <variant>

namespace causalctl::tracee {

struct Ended {  // exited, was killed, or is no longer ours to wait for
};
struct SyscallStop {  // entry or exit, with PTRACE_O_TRACESYSGOOD
};
struct EventStop {  // PTRACE_EVENT_…
  int event = 0;
  int signal = 0;  // of PTRACE_EVENT_STOP: SIGTRAP after an interrupt, or the group-stop's signal
};
struct SignalStop {  // it is about to receive this signal, which the tracer must pass on
  int signal = 0;
};

using Stop = std::variant<Ended, SyscallStop, EventStop, SignalStop>;

Stop decode_stop(int wait_status);

}  // namespace causalctl::tracee

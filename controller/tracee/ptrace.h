// The only caller of ptrace(2), and of waitpid(2) for tracees. Everything but reap_if_ended()
// belongs in the guardian process, because a tracee has one tracer thread.
//
// Names tell how a call can fail. `…_if_alive` returns false or nullopt when the thread is gone (or
// not stopped by us, which to the kernel is the same, ESRCH); `try_…` returns the error number.
// Every other failure is our own bug and throws Error.
#pragma once

#include <sys/user.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/tracee/stop.h"

namespace causalctl::tracee::ptrace {

using Registers = user_regs_struct;

enum class Resume { run, to_syscall };
enum class SyscallPhase { none, entry, exit };

struct RseqArea {  // of a thread (rseq(2)); address 0: it has registered none
  Address address = 0;
};

// Gives the tracee PTRACE_O_TRACESYSGOOD. Returns 0 or an error number: EPERM, also where another
// process traces it, ESRCH and others.
[[nodiscard]] int try_seize(Tid tid, bool stop_at_exec = false);
// Hides the system calls of this stopped tracee from its seccomp filters until the detach
// (ptrace(2), PTRACE_O_SUSPEND_SECCOMP). Returns false if the tracee is gone, or if that is not
// permitted: it needs CAP_SYS_ADMIN and a tracer that is not under seccomp itself.
[[nodiscard]] bool try_suspend_seccomp(Tid tid);
// For a stopped tracee that stops at its exec. While it is guarded, it is killed when we end, and
// what it forks is traced, too, and stopped before its first instruction.
[[nodiscard]] bool guard_if_alive(Tid tid, bool guarded);
[[nodiscard]] bool interrupt_if_alive(Tid tid);
[[nodiscard]] bool resume_if_alive(Tid tid, Resume how, int signal);
bool detach_if_alive(Tid tid, int signal);

[[nodiscard]] std::optional<Registers> registers_if_alive(Tid tid);
[[nodiscard]] bool set_registers_if_alive(Tid tid, const Registers& registers);
[[nodiscard]] std::optional<std::uint64_t> signal_mask_if_alive(Tid tid);
[[nodiscard]] bool set_signal_mask_if_alive(Tid tid, std::uint64_t mask);
// Returns the process or thread that was made, at the event-stop of a fork.
[[nodiscard]] std::optional<Tid> made_if_alive(Tid tid);
// Returns the aligned word that holds this address, whatever the rights of its mapping.
[[nodiscard]] std::optional<std::uint64_t> word_if_alive(Tid tid, Address address);
[[nodiscard]] bool set_word_if_alive(Tid tid, Address address, std::uint64_t word);
[[nodiscard]] std::optional<SyscallPhase> syscall_phase_if_alive(Tid tid);
// Returns the signals queued for this thread alone, and leaves them there.
[[nodiscard]] std::optional<std::vector<siginfo_t>> queued_signals_if_alive(Tid tid);
[[nodiscard]] std::optional<RseqArea> rseq_if_alive(Tid tid);
// Returns whether calls from most of its code raise SIGSYS (PR_SET_SYSCALL_USER_DISPATCH). False
// before Linux 6.4.
[[nodiscard]] bool dispatches_syscalls(Tid tid);

// Waits for the next stop of one tracee. Returns nullopt at the deadline. REQUIRES: SIGCHLD is
// blocked.
[[nodiscard]] std::optional<Stop> wait_until(Tid tid, Nanoseconds deadline_ns);

struct Waited {
  Tid tid = 0;
  Stop stop;
};
// Returns the next stop of any tracee that has not been waited for; nullopt if there is none now.
[[nodiscard]] std::optional<Waited> poll_any();

// Returns the wait status of our own child once it has ended. Not for tracees.
[[nodiscard]] std::optional<int> reap_if_ended(Pid child);

}  // namespace causalctl::tracee::ptrace

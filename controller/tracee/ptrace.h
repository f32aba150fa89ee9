// The only caller of ptrace(2) and waitpid(2). Everything but reap_if_ended()
// belongs in the guardian process: a tracee has one tracer thread.
//
// Names tell how a call can fail: `…_if_alive` says false or nullopt when the thread is gone (or
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

struct RseqArea {  // rseq(2) of a thread; address 0: not registered
  Address address = 0;
};

// Every tracee gets PTRACE_O_TRACESYSGOOD. 0, or EPERM (also: traced by another), ESRCH, …
[[nodiscard]] int try_seize(Tid tid, bool stop_at_exec = false);
// Until the detach no filter of seccomp sees this stopped tracee's system calls (ptrace(2),
// PTRACE_O_SUSPEND_SECCOMP). False: it is gone, or that is not for us: it needs CAP_SYS_ADMIN and a
// tracer that is not under seccomp itself.
[[nodiscard]] bool try_suspend_seccomp(Tid tid);
// Of a stopped tracee that stops at its exec: whether it is killed when we end, and whether what it
// forks is traced, too, stopped before its first instruction.
[[nodiscard]] bool guard_if_alive(Tid tid, bool guarded);
[[nodiscard]] bool interrupt_if_alive(Tid tid);
[[nodiscard]] bool resume_if_alive(Tid tid, Resume how, int signal);
bool detach_if_alive(Tid tid, int signal);

[[nodiscard]] std::optional<Registers> registers_if_alive(Tid tid);
[[nodiscard]] bool set_registers_if_alive(Tid tid, const Registers& registers);
[[nodiscard]] std::optional<std::uint64_t> signal_mask_if_alive(Tid tid);
[[nodiscard]] bool set_signal_mask_if_alive(Tid tid, std::uint64_t mask);
// Of an event-stop of a fork: the process or thread that was made.
[[nodiscard]] std::optional<Tid> made_if_alive(Tid tid);
// The aligned word that holds this address, whatever the rights of its mapping.
[[nodiscard]] std::optional<std::uint64_t> word_if_alive(Tid tid, Address address);
[[nodiscard]] bool set_word_if_alive(Tid tid, Address address, std::uint64_t word);
[[nodiscard]] std::optional<SyscallPhase> syscall_phase_if_alive(Tid tid);
// Signals queued for this thread alone, left in the queue.
[[nodiscard]] std::optional<std::vector<siginfo_t>> queued_signals_if_alive(Tid tid);
[[nodiscard]] std::optional<RseqArea> rseq_if_alive(Tid tid);
// By PR_SET_SYSCALL_USER_DISPATCH: calls from most of its code raise SIGSYS. False before
// Linux 6.4.
[[nodiscard]] bool dispatches_syscalls(Tid tid);

// Waits for the next stop of one tracee; nullopt at the deadline. REQUIRES SIGCHLD blocked.
[[nodiscard]] std::optional<Stop> wait_until(Tid tid, Nanoseconds deadline_ns);

struct Waited {
  Tid tid = 0;
  Stop stop;
};
// The next stop of any tracee that has not been waited for; nullopt: none now.
[[nodiscard]] std::optional<Waited> poll_any();

// Of our own child: its wait status once it has ended. Not for tracees.
[[nodiscard]] std::optional<int> reap_if_ended(Pid child);

}  // namespace causalctl::tracee::ptrace

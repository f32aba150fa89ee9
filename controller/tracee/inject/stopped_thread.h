// One thread of the target, stopped so that it can make system calls for us.
//
// Algorithm. PTRACE_SEIZE, PTRACE_INTERRUPT; in the stop, save the registers and the signal mask
// and block every signal; for each call put the number and arguments into the registers, the
// instruction pointer onto a `syscall` instruction that the target has anyway, orig_rax to -1 (so
// that the kernel does not take our call for an interrupted one), and go from syscall-stop to
// syscall-stop. At the end put the saved registers back and detach. No byte of the target's memory
// or stack is used, and system calls leave the extended state (x87, SSE, AVX) alone, so that needs
// no saving.
//
// Why PTRACE_SYSCALL and not PTRACE_SINGLESTEP: a tracer that is killed while it single-steps
// leaves a trap flag, and the target dies by SIGTRAP (docs/safety.md). Syscall-stops leave
// nothing: the flag goes with the tracer. What remains is the time between the first call and the
// detach, about 200 µs, in which the registers are ours: a SIGKILL of the guardian itself (not of
// the controller) right then is fatal for the target.
//
// Why the interrupted system call goes on: the stop is in the kernel's signal delivery, before it
// looks at the call's result. With the saved registers back (rax = -ERESTART…, orig_rax >= 0),
// the detach makes the thread pass there once more (TIF_SIGPENDING), and the kernel restarts the
// call, with the remaining time where the call has any (restart_block, which our calls do not
// touch). A few calls (epoll_wait, sigtimedwait, …) return -EINTR even to an interrupt without a
// signal: those are rewound, rax = orig_rax, rip -= 2, and start again with their full timeout (but
// for close, which must not be made twice).
// Under seccomp the calls that the kernel would continue by restart_syscall(2) are rewound, too: to
// a filter that is a system call of its own, for which it may end the target.
//
// A stop is not usable, and the thread is let go at once, when a signal that is not ignored is
// about to be delivered (then -EINTR is the truth), or inside a restartable sequence (rseq(2):
// moving the instruction pointer would hide from the kernel that it must be aborted).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "controller/base/stopped_calls.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/priority_boost.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::tracee {

// Linux system calls return -4095 … -1 for errors.
inline bool is_error(long result) { return result < 0 && result >= -4095; }

// Returns the registers with which an interrupted system call must go on: rewound when it returned
// EINTR, and under seccomp where restart_syscall(2) is due.
ptrace::Registers with_syscall_rewound(ptrace::Registers registers, bool seccomp);  // pure

// Returns whether the stop interrupted a system call that had not finished.
bool interrupted_syscall(const ptrace::Registers& registers);  // pure

// Returns whether the stop may have made a write return before everything was written.
bool cut_short(const ptrace::Registers& registers);  // pure

// Returns what becomes of the system call that a stop of ours met, if it met one. Pure. REQUIRES:
// no signal is about to be delivered, which would be why it returned EINTR.
StoppedCalls met_by_stop(const ptrace::Registers& registers, bool seccomp);
StoppedCalls stopped_calls();  // met by all stops of this process so far

// Detaches a tracee that is in this stop as if it had never been stopped: passes its signal on, and
// rewinds its system call.
void let_go_if_alive(Tid tid, const Stop& stop);

class StoppedThread {
 public:
  // Returns nullopt if the thread is gone, is not usable, or does not stop before the deadline (the
  // next wait for it must let it go). `syscall_instruction` is an address in the target.
  // `dispatches` becomes true if it dispatches its system calls itself, so that it is never usable.
  static std::optional<StoppedThread> stop(Pid pid, Tid tid, Address syscall_instruction,
                                           Nanoseconds deadline_ns, bool* dispatches = nullptr);
  // Takes a tracee that is in a PTRACE_EVENT_STOP or in a syscall-exit-stop. Returns nullopt as
  // above.
  static std::optional<StoppedThread> take(Pid pid, Tid tid, Address syscall_instruction,
                                           bool* dispatches = nullptr);
  // Takes a launched program's thread that is suspended where no system call was interrupted, so
  // that signals may wait until it is released. It stays stopped at the end, and where it is not
  // usable.
  static std::optional<StoppedThread> take_suspended(Pid pid, Tid tid, Address syscall_instruction);

  StoppedThread(StoppedThread&& other) noexcept;
  StoppedThread& operator=(StoppedThread&&) = delete;
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;
  ~StoppedThread();  // restores, and detaches unless keep() was called

  Tid tid() const { return tid_; }
  const ptrace::Registers& registers() const { return saved_; }

  // Returns the result as the kernel does, or nullopt if the thread is gone.
  [[nodiscard]] std::optional<long> call(long number,
                                         std::initializer_list<std::uint64_t> arguments);

  void keep() { kept_ = true; }  // at the end the thread stays stopped and ours

 private:
  StoppedThread(Tid tid, const ptrace::Registers& saved, Address syscall_instruction)
      : tid_(tid), saved_(saved), syscall_instruction_(syscall_instruction) {}

  struct Boosts {
    PriorityBoost guardian;
    PriorityBoost thread;
  };

  bool restore_if_alive();

  Tid tid_ = 0;  // 0: no longer ours
  bool kept_ = false;
  ptrace::Registers saved_{};
  Address syscall_instruction_ = 0;
  std::optional<std::uint64_t> saved_mask_;  // set by the first call
  std::optional<Boosts> boosts_;
};

}  // namespace causalctl::tracee

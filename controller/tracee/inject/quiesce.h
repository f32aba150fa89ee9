// Waits until the target is quiescent: nothing of the pause stub is in any of its threads, so that
// the stub's handler and its page can go.
//
// The ways in which a thread can still need the stub after the last sigtrap event was closed, and
// how each is excluded:
//   1. It runs the stub, and its user instruction pointer is in the code page; or it runs a handler
//      that interrupted the stub, for a signal that the target ignored at the attach (others are
//      blocked there). The latter is seen in the slots: entered, and not left.
//   2. A SIGTRAP of ours is queued: bit 5 of SigPnd (perf sends it to the thread, never to the
//      process). Where SIGTRAP is not blocked it is delivered soon; where it is blocked it could be
//      there for ever, so it is taken out of the queue by a remote rt_sigtimedwait.
//   3. The event has fired, but the kernel's task work that sends the signal has not run: only
//      between an interrupt in user mode and the return from it, so the thread is runnable.
//   4. The signal is dequeued and its frame is being written, which can sleep in a page fault:
//      blocked, but not in a system call.
//
// A thread blocked in a system call is in neither state 3 nor 4, because it entered from user code.
// So for it, reading *in this order* is proof, without stopping it: it is blocked in a call (no
// task work is due from now on), SIGTRAP is not pending (none is queued from now on), it is blocked
// in a call with the instruction pointer elsewhere (none was delivered in between). Every other
// thread is stopped by PTRACE_INTERRUPT: that stop is behind the task work (get_signal runs it
// first) and behind the frame, so that only 1 and 2 remain there, and both can be seen. Threads
// born meanwhile start outside the stub with an empty queue.
#pragma once

#include <functional>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/forking_threads.h"

namespace causalctl::tracee {

struct StubRange {
  Address code_begin = 0;
  Address code_end = 0;
  Address slots_begin = 0;
  Address slots_end = 0;
  Address scratch = 0;  // 32 bytes for the arguments of rt_sigtimedwait
};

struct Quiesced {
  bool all = false;          // false if some thread was not quiescent at the deadline
  std::vector<Tid> touched;  // threads that have made a system call for us
};

struct QuiesceLimits {
  Nanoseconds deadline_ns = 0;  // CLOCK_MONOTONIC
  Patience spare;  // while it lasts, a thread that forks is polled again instead of being stopped
  // Called before a thread gets a priority for its stop.
  std::function<void(Tid)> before_boost = [](Tid) {};
};

// The thread `suspended` (0: there is none) is stopped by us already.
Quiesced quiesce(Pid pid, const StubRange& stub, Address syscall_instruction, Tid suspended,
                 ForkingThreads& forking, QuiesceLimits& limits);

}  // namespace causalctl::tracee

// Makes a thread of the target, and the guardian with it, run before others for as long as the
// object lives, so that a stop is short on a machine without an idle core as well: from stop to
// detach the thread has to get a core eight times, and each time it would otherwise wait for a time
// slice.
//
// SCHED_FIFO, on the guardian from when it knows its target and, at its highest priority, on the
// stopped thread, then back to what was there: policy, reset-on-fork, and the timer slack, which
// the kernel forgets on the way.
//
// INVARIANT: all threads of causalctl that have a real-time priority have the same one, the lowest
// that is above the target's (precedence.h). The kernel lets a thread that looks up the entry of an
// ended process in /proc spin until another one has dropped that entry (shrink_dcache_parent()).
// Had that other one a lower real-time priority, and were it preempted on the same core, neither
// would ever go on, and SIGKILL would not help.
// Needs CAP_SYS_NICE for a thread of the target; without it, or for a thread with a real-time
// policy of its own, nothing happens. Nothing inherits it: the thread executes nothing of its own
// meanwhile but the few instructions up to its stop, and what it starts in these is reset by the
// kernel. A guardian that is itself killed in this time (see stopped_thread.h) leaves the policy
// behind; what was there is noted beside the stub (left_stub.h), and the next causalctl puts it
// back.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/base/types.h"

namespace causalctl::tracee {

// How a thread was scheduled before its boost. It lies in the target's memory, so it is checked
// before it is believed.
struct SchedulingBefore {
  std::uint64_t tid = 0;  // 0: none
  std::int64_t policy = 0;
  std::uint64_t timer_slack_ns = 0;
};

// Returns nullopt if the thread is gone, or has a policy that PriorityBoost leaves alone.
std::optional<SchedulingBefore> scheduling_of(Tid tid);

// Gives the thread this scheduling back, if it belongs to `pid` and was left with exactly what
// PriorityBoost sets. Otherwise nothing happens.
void restore_scheduling(Pid pid, const SchedulingBefore& before);

// Raises the remaining threads of an exiting process to the priority of the caller, for good. On a
// busy machine a thread of low priority could otherwise take seconds to exit, and the perf events
// of the process stay open until it has. Does nothing without CAP_SYS_NICE, or if the first thread
// is not exiting.
void boost_exit_of(Pid pid);

int highest_priority();  // of SCHED_FIFO and SCHED_RR
int lowest_priority();

// Gives a thread of causalctl at least this priority, if it has asked for one, by which it resets
// on fork (also where it has lost it since). Returns false where it has not, where that is not
// permitted, or where the thread is gone.
bool raise_to(Tid thread, int priority);

class PriorityBoost {
 public:
  // 0: the calling thread, for which RLIMIT_RTPRIO permits as much, too.
  explicit PriorityBoost(Tid tid, int priority = highest_priority());
  PriorityBoost(PriorityBoost&& other) noexcept;
  PriorityBoost& operator=(PriorityBoost&&) = delete;
  PriorityBoost(const PriorityBoost&) = delete;
  PriorityBoost& operator=(const PriorityBoost&) = delete;
  ~PriorityBoost() { end(); }

  void end();
  bool works() const { return before_.has_value(); }

 private:
  Tid tid_;
  std::optional<SchedulingBefore> before_;  // to go back to; nullopt: nothing was changed
};

}  // namespace causalctl::tracee

// The threads of one core, which Linux schedules by EEVDF (kernel/sched/fair.c since 6.6; delayed
// dequeueing since 6.12).
//
// V, the core's virtual time, is the mean of its threads' virtual runtimes, by weight. A thread's
// lag is V less its virtual runtime: what it is owed. The thread is eligible as long as that is not
// negative. Its deadline is where its virtual runtime will be when it has had its slice.
//   - Next is, of the eligible threads, the one with the earliest deadline (pick_eevdf).
//   - A thread that becomes runnable is placed so that it has the lag with which it blocked
//     (place_entity, PLACE_LAG). It preempts the core's thread only if that has had its slice or is
//     no longer eligible (wakeup_preempt_fair, RUN_TO_PARITY).
//   - A thread that blocks while it owes something stays in the queue as a delayed one. It counts
//     for V, and is let go when it would be next. If it is woken before, it goes on in this queue,
//     whichever cores are idle (DELAY_DEQUEUE, DELAY_ZERO, ttwu_runnable).
//
// Unlike in Linux, a slice ends exactly and not at the next tick, and a wake-up gives no thread
// precedence (NEXT_BUDDY, PREEMPT_SHORT: all slices are equally long).
#pragma once

#include <vector>

#include "tests/sim/scheduler.h"

namespace causalctl::sim {

class RunQueue {
 public:
  // `core` must outlive it.
  RunQueue(const Core& core, Nanoseconds slice_ns) : core_(&core), slice_ns_(slice_ns) {}

  // The thread was woken or is new, and is in no queue.
  void add(Thread& thread, Nanoseconds now_ns);
  void wake_delayed(Thread& thread, Nanoseconds now_ns);
  void put_back(Thread& thread, Nanoseconds now_ns);  // the core was taken away from it
  void block(Thread& thread, Nanoseconds now_ns);     // it is still on the core
  void end(Nanoseconds now_ns);                       // the thread on the core ends

  // Each takes a thread from the queue, or returns null if there is no such thread.
  Thread* take_next(Nanoseconds now_ns);        // to run on the core, which is idle
  Thread* take_preempting(Nanoseconds now_ns);  // to run instead of the core's thread
  // Returns the thread that came first, of weight `most` or less, and on no core for `cold_ns`.
  Thread* take_away(double most, Nanoseconds cold_ns, Nanoseconds now_ns);
  void withdraw(Thread& thread, Nanoseconds now_ns);  // does nothing if it is not in the queue
  // Takes a thread from another core.
  void receive(Thread& thread, Nanoseconds now_ns);

  Nanoseconds slice_of(const Thread& thread) const;  // what is left of it
  // If the slice of the core's thread is over, it gets another one. Returns true if it is not that
  // thread's turn.
  bool makes_room(Nanoseconds now_ns);

  // Delayed threads do not count.
  unsigned runnable() const;
  double load() const;  // sum of weights
  bool idle() const { return runnable() == 0; }

 private:
  double virtual_time(Nanoseconds now_ns) const;
  double lag_of(const Share& share) const;  // REQUIRES: V is up to date
  void place(Thread& thread, double request_ns);
  Thread* earliest(double no_later_than_ns) const;
  Thread* due(Nanoseconds now_ns, bool protects);
  Thread* take(Thread* thread);

  const Core* core_;
  Nanoseconds slice_ns_;
  std::vector<Thread*> queue_;  // the first to have come is in front
  double virtual_time_ns_ = 0;  // when it was last computed
};

}  // namespace causalctl::sim

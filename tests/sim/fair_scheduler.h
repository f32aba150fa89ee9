// Fair sharing with one queue for all cores. A thread's virtual runtime is the CPU time that it has
// had, divided by its weight. The thread with the least virtual runtime is next when a core is free
// or a slice ends. A new or woken thread starts at the least virtual runtime of all runnable
// threads, less `sleeper_ns`, so that it is owed nothing for the time it slept. It preempts the
// thread that is furthest ahead, if that one is ahead of it by `granularity_ns`.
#pragma once

#include <deque>
#include <vector>

#include "tests/sim/scheduler.h"

namespace causalctl::sim {

class FairScheduler final : public Scheduler {
 public:
  using Scheduler::Scheduler;

  void woken(Thread& thread, std::uint32_t by, Nanoseconds now_ns) override;
  void preempted(Thread& thread, Nanoseconds now_ns) override;
  void blocking(Thread& thread, Nanoseconds now_ns) override;
  void ending(Thread& thread, Nanoseconds now_ns) override;
  void withdraw(Thread& thread, Nanoseconds now_ns) override;
  void resumed(Thread& thread, Nanoseconds now_ns) override;
  std::optional<Placement> next(Nanoseconds now_ns) override;
  bool makes_room(const Core& core, Nanoseconds now_ns) override;

 private:
  void raise_floor(Nanoseconds now_ns);
  void place(Thread& thread, Nanoseconds now_ns);
  const Core* furthest_ahead(Nanoseconds now_ns) const;
  Thread* least() const;  // of those in the queue; null if it is empty

  std::vector<Thread*> queue_;  // in the order of their arrival
  std::deque<Thread*> fresh_;   // woken, but not checked yet whether they may preempt
  double floor_ns_ = 0;         // the least virtual runtime of runnable threads, which never falls
};

// It is up to date as of `now_ns`. REQUIRES: the core has a thread.
double vruntime_on(const Core& core, Nanoseconds now_ns);

}  // namespace causalctl::sim

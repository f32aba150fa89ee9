// A run queue for each core (run_queue.h), as in Linux, on a machine whose cores share a cache. It
// stands for these functions of kernel/sched/fair.c:
//   - select_task_rq_fair, wake_affine, select_idle_sibling: a woken thread comes to the core where
//     it ran last or, if that is loaded more, to its waker's; and to an idle one, if there is one.
//     A new thread comes to the least loaded core.
//   - sched_balance_newidle (newidle_balance before 6.10): a core that becomes idle takes a thread
//     from the core that has most of them.
//   - sched_balance_domains, nohz_idle_balance: an idle core tries so at each tick.
//   - sched_balance_rq, sched_balance_find_src_group, calculate_imbalance, detach_tasks: every
//     16 ms times the number of cores, a busy core takes threads from the one with the greatest
//     load, of at most the weight by which that is above the mean or it is below. If there is none
//     so light, it will take one of twice the weight the next time, and so on. So three threads of
//     equal weight take turns on two cores, each with a core of its own for about twice as long.
//   - task_hot: a thread that has been on a core `migration_cost_ns` ago or less is left there.
//
// It leaves out: averages of load over tens of milliseconds (PELT; here loads are momentary);
// groups of cores; the condition that an idle time must not be too short for a core to look for
// threads; wake_wide, and the hint WF_SYNC of pipes. All ticks come at the same time.
#pragma once

#include <vector>

#include "tests/sim/run_queue.h"
#include "tests/sim/scheduler.h"

namespace causalctl::sim {

class PerCoreScheduler final : public Scheduler {
 public:
  PerCoreScheduler(const Cores& cores, const SchedulerOptions& options);

  void woken(Thread& thread, std::uint32_t by, Nanoseconds now_ns) override;
  void preempted(Thread& thread, Nanoseconds now_ns) override;
  void blocking(Thread& thread, Nanoseconds now_ns) override;
  void ending(Thread& thread, Nanoseconds now_ns) override;
  void withdraw(Thread& thread, Nanoseconds now_ns) override;
  void resumed(Thread& thread, Nanoseconds now_ns) override;
  std::optional<Placement> next(Nanoseconds now_ns) override;
  Nanoseconds slice_of(const Thread& thread) const override;
  bool makes_room(const Core& core, Nanoseconds now_ns) override;
  Nanoseconds tick_ns() const override { return 4 * kMillisecond; }  // CONFIG_HZ=250
  void tick(Nanoseconds now_ns) override;

 private:
  struct PerCore {
    explicit PerCore(RunQueue its) : queue(std::move(its)) {}

    RunQueue queue;
    bool looks = false;    // the core has become idle, and looks for a thread to pull
    bool changed = false;  // threads have come, and the running one may have to make room
    Nanoseconds balance_at_ns = 0;
    unsigned failed = 0;  // balances that found only threads that were too heavy
  };

  std::uint32_t core_for(const Thread& thread, std::uint32_t by) const;
  std::uint32_t idle_core_near(std::uint32_t target) const;
  std::uint32_t least_loaded() const;
  Thread* pull(std::uint32_t to, Nanoseconds now_ns);
  Nanoseconds balance_ns() const;
  double mean_load() const;
  PerCore* busier_than(const PerCore& own);
  void balance(std::uint32_t to, Nanoseconds now_ns);

  std::vector<PerCore> per_core_;
};

}  // namespace causalctl::sim

// The limit on a cgroup's CPU time (cpu.max, or cpu.cfs_quota_us of version 1; CONFIG_CFS_BANDWIDTH
// in kernel/sched/fair.c). When its threads have together used up the quota of a period, they are
// stopped until the next period, on whichever cores they are. In the kernel's records they are
// preempted, as in throttle_cfs_rq. Unused quota is lost; excess use counts in the next period.
//
// Left out: a core takes its share of the quota in portions of 5 ms (sched_cfs_bandwidth_slice_us)
// and checks at each tick whether that is used up, so that real threads stop at slightly different
// times, and later.
#include <algorithm>

#include "tests/sim/machine.h"

namespace causalctl::sim {

Nanoseconds Machine::quota_used() const {
  Nanoseconds used_ns = quota_.used_ns;
  for (const Core& core : cores_) {
    if (limits(core)) used_ns += std::max<Nanoseconds>(now_ns_ - core.since_ns, 0);
  }
  return used_ns;
}

// Returns how long each running thread can go on; it is longer if fewer run from some moment on.
Nanoseconds Machine::quota_left_each() const {
  const auto running = std::count_if(cores_.begin(), cores_.end(),
                                     [this](const Core& core) { return limits(core); });
  return (options_.quota_ns - quota_used() + running - 1) / std::max<Nanoseconds>(running, 1);
}

void Machine::enforce_quota() {
  if (options_.quota_ns == 0 || quota_.over || quota_used() < options_.quota_ns) return;
  quota_.over = quota_.throttled = true;
  ++quota_.used_up;
  for (Core& core : cores_) {
    if (limits(core)) preempt(core);
  }
  for (Thread* thread : live_) {
    if (!thread->limited_ || thread->state_ != State::runnable) continue;
    scheduler_->withdraw(*thread, now_ns_);
    quota_.stopped.push_back(thread);
  }
}

void Machine::begin_period() {
  ++quota_.periods;
  stops_.push({now_ns_ + options_.quota_period_ns, ++order_, Kind::period});
  for (Core& core : cores_) advance(core);
  quota_.used_ns = std::max<Nanoseconds>(quota_.used_ns - options_.quota_ns, 0);
  quota_.over = false;
  for (Thread* thread : std::exchange(quota_.stopped, {})) scheduler_->resumed(*thread, now_ns_);
  for (Core& core : cores_) {
    if (limits(core)) plan(core);
  }
}

CpuLimits Machine::poll_quota() {
  CpuLimits limits{.throttled = quota_.throttled};
  if (quota_.used_up > 0) {
    limits.used_up = static_cast<double>(quota_.used_up) / std::max(quota_.periods, 1U);
    limits.granted =
        static_cast<double>(options_.quota_ns) / static_cast<double>(options_.quota_period_ns);
  }
  quota_.periods = quota_.used_up = 0;
  return limits;
}

}  // namespace causalctl::sim

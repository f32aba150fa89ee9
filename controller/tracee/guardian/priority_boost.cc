#include "controller/tracee/guardian/priority_boost.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "controller/base/procfs.h"
#include "controller/base/restrictions.h"

namespace causalctl::tracee {
namespace {

constexpr int kBoosted = SCHED_FIFO | SCHED_RESET_ON_FORK;

std::string timer_slack_path(Tid tid) {
  return tid == 0 ? "/proc/self/timerslack_ns" : fmt::format("/proc/{}/timerslack_ns", tid);
}

std::uint64_t timer_slack_ns(Tid tid) {
  return static_cast<std::uint64_t>(procfs::read_number(timer_slack_path(tid)).value_or(0));
}

bool is_ordinary(int policy) {
  const int kind = policy & ~SCHED_RESET_ON_FORK;
  return policy >= 0 && (kind == SCHED_OTHER || kind == SCHED_BATCH || kind == SCHED_IDLE);
}

void set_scheduling(Tid tid, const SchedulingBefore& before) {
  const sched_param none{0};  // the nice value was not touched
  const int policy = static_cast<int>(before.policy);
  // It is tried twice, because the target's own priority is at stake.
  if (sched_setscheduler(tid, policy, &none) != 0 && sched_setscheduler(tid, policy, &none) != 0 &&
      tid == 0) {
    sched_setscheduler(tid, policy | SCHED_RESET_ON_FORK, &none);  // which needs no capability
  }
  if (before.timer_slack_ns == 0 || timer_slack_ns(tid) == before.timer_slack_ns) return;
  std::ofstream(timer_slack_path(tid)) << before.timer_slack_ns;
}

// Returns the priority that RLIMIT_RTPRIO permits, up to `wanted`.
int permitted_priority(int wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_RTPRIO, &limit) != 0) return 0;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(wanted)));
}

// RLIMIT_RTPRIO, too, permits the policy, but only the capability permits to take the flag back
// (sched(7)). This is tried on the calling process, to which the flag does no harm.
bool may_take_back() {
  static const bool may = [] {
    const sched_param none{0};
    const int policy = sched_getscheduler(0);
    if (policy != SCHED_OTHER) return has_machine_capability(CAP_SYS_NICE);
    return sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) == 0 &&
           sched_setscheduler(0, SCHED_OTHER, &none) == 0;
  }();
  return may;
}

}  // namespace

int highest_priority() { return sched_get_priority_max(SCHED_FIFO); }
int lowest_priority() { return sched_get_priority_min(SCHED_FIFO); }

std::optional<SchedulingBefore> scheduling_of(Tid tid) {
  const int policy = sched_getscheduler(tid);
  if (!is_ordinary(policy)) return std::nullopt;
  return SchedulingBefore{static_cast<std::uint64_t>(tid), policy, timer_slack_ns(tid)};
}

void restore_scheduling(Pid pid, const SchedulingBefore& before) {
  const auto tid = static_cast<Tid>(before.tid);
  const auto policy = static_cast<int>(before.policy);
  if (tid <= 0 || !is_ordinary(policy) || !procfs::thread_status(pid, tid)) return;
  sched_param now{};
  if (sched_getscheduler(tid) != kBoosted || sched_getparam(tid, &now) != 0) return;
  if (now.sched_priority == highest_priority()) set_scheduling(tid, before);
}

void boost_exit_of(Pid pid) {
  constexpr std::uint64_t exiting = 0x4;  // PF_EXITING
  const auto first = procfs::thread_stat(pid, pid);
  if (!first || (procfs::parse_flags(*first) & exiting) == 0) return;
  sched_param own{};
  if (sched_getparam(0, &own) != 0 || own.sched_priority == 0) own = {lowest_priority()};
  for (const Tid tid : procfs::threads(pid)) (void)sched_setscheduler(tid, kBoosted, &own);
}

bool raise_to(Tid thread, int priority) {
  const int policy = sched_getscheduler(thread);
  if (policy < 0 || (policy & SCHED_RESET_ON_FORK) == 0) return false;
  sched_param now{};
  if (sched_getparam(thread, &now) == 0 && now.sched_priority >= priority) return true;
  const sched_param wanted{priority};
  return sched_setscheduler(thread, kBoosted, &wanted) == 0;
}

PriorityBoost::PriorityBoost(Tid tid, int priority) : tid_(tid) {
  if (tid != 0 && !may_take_back()) return;
  const auto before = scheduling_of(tid);
  if (!before) return;
  // A thread that it starts before its stop must not keep the policy.
  const auto boost = [tid](int to) {
    const sched_param wanted{to};
    return sched_setscheduler(tid, kBoosted, &wanted) == 0;
  };
  if (boost(priority) || (tid == 0 && boost(permitted_priority(priority)))) before_ = before;
}

PriorityBoost::PriorityBoost(PriorityBoost&& other) noexcept
    : tid_(other.tid_), before_(std::exchange(other.before_, std::nullopt)) {}

void PriorityBoost::end() {
  if (!before_) return;
  set_scheduling(tid_, *before_);
  before_.reset();
}

}  // namespace causalctl::tracee

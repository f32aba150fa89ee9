#include "controller/target/hurry.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>

#include <fstream>
#include <utility>

#include "controller/base/procfs.h"

namespace causalctl::target {
namespace {

std::string timer_slack_path(Tid tid) {
  return tid == 0 ? "/proc/self/timerslack_ns" : fmt::format("/proc/{}/timerslack_ns", tid);
}

// With a limit of RLIMIT_RTPRIO, too, the policy may be set; but the flag taken back by nobody
// without the capability (sched(7)). Tried on this process, which it does not harm to keep it.
bool may_take_back() {
  static const bool may = [] {
    const sched_param none{0};
    const int policy = sched_getscheduler(0);
    if (policy != SCHED_OTHER) return procfs::has_capability(CAP_SYS_NICE);
    return sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) == 0 &&
           sched_setscheduler(0, SCHED_OTHER, &none) == 0;
  }();
  return may;
}

}  // namespace

Hurry::Hurry(Tid tid) : tid_(tid) {
  if (!may_take_back()) return;
  const int policy = sched_getscheduler(tid);
  const int kind = policy & ~SCHED_RESET_ON_FORK;
  if (policy < 0 || (kind != SCHED_OTHER && kind != SCHED_BATCH && kind != SCHED_IDLE)) return;
  timer_slack_ = procfs::read_text(timer_slack_path(tid)).value_or("");
  const sched_param lowest{sched_get_priority_min(SCHED_FIFO)};
  // A thread that it starts before its stop must not stay so.
  if (sched_setscheduler(tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0) policy_ = policy;
}

Hurry::Hurry(Hurry&& other) noexcept
    : tid_(other.tid_),
      policy_(std::exchange(other.policy_, std::nullopt)),
      timer_slack_(std::move(other.timer_slack_)) {}

void Hurry::end() {
  if (!policy_) return;
  const sched_param none{0};  // the nice value was not touched
  // Twice, if need be: the target's own priority is at stake.
  if (sched_setscheduler(tid_, *policy_, &none) != 0) sched_setscheduler(tid_, *policy_, &none);
  policy_.reset();
  const auto path = timer_slack_path(tid_);
  if (procfs::read_text(path) != timer_slack_) std::ofstream(path) << timer_slack_;
}

}  // namespace causalctl::target

#include "tests/sim/sim_pauser.h"

#include <algorithm>
#include <cstdlib>

#include "controller/base/error.h"

namespace causalctl::sim {
namespace {

constexpr Nanoseconds kWorthWriting = 20 * kMicrosecond;  // the value of sigtrap_channel.cc

}  // namespace

void SimPauser::set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds /*now_ns*/) {
  const auto found = threads_.find(tid);
  Shot* shot = machine_.shot(tid);
  if (found == threads_.end() || shot == nullptr) return;
  Pausing& thread = found->second;
  const Nanoseconds bounded_ns = std::clamp<Nanoseconds>(debt_ns, 0, options_.longest_ns);
  const Nanoseconds owed_total_ns = thread.paid_total_ns + bounded_ns;
  if (thread.armed) {
    if (std::abs(owed_total_ns - thread.owed_total_ns) < kWorthWriting && bounded_ns > 0) return;
    thread.owed_total_ns = owed_total_ns;
    machine_.owe(tid, owed_total_ns);
    return;
  }
  if (bounded_ns == 0) return;
  thread.owed_total_ns = owed_total_ns;
  thread.armed = true;
  thread.awake = machine_.options().spin_in_stub;
  if (arrives_) machine_.arm(tid, owed_total_ns, options_.stale_after_ns, arming_ns_);
}

std::vector<pause::Paid> SimPauser::collect(Nanoseconds /*now_ns*/) {
  std::vector<pause::Paid> paid;
  standing_ = 0;
  for (auto& [tid, thread] : threads_) {
    thread.standing = false;
    Shot* shot = machine_.shot(tid);
    if (!thread.armed || shot == nullptr) continue;
    if (shot->in_stub()) {
      thread.standing = true;
      ++standing_;
    }
    if (shot->stage != Shot::Stage::left) continue;
    shot->stage = Shot::Stage::idle;
    INVARIANT(thread.owed_total_ns >= thread.paid_total_ns);
    if (shot->left_at_ns > shot->entered_at_ns) {
      totals_.asked_ns += thread.owed_total_ns - thread.paid_total_ns;
      totals_.paid_ns += shot->paid_total_ns - thread.paid_total_ns;
      ++totals_.pauses;
    } else {
      ++totals_.stale;
    }
    paid.push_back({tid, shot->entered_at_ns, shot->left_at_ns, options_.pause_cost_ns.value_or(0),
                    thread.awake});
    thread.paid_total_ns = shot->paid_total_ns;
    thread.armed = false;
  }
  std::sort(paid.begin(), paid.end(), [](const auto& a, const auto& b) {
    return a.end_ns != b.end_ns ? a.end_ns < b.end_ns : a.tid < b.tid;
  });
  return paid;
}

bool SimPauser::pausing(Tid tid) const {
  const auto found = threads_.find(tid);
  return found != threads_.end() && found->second.armed;
}

bool SimPauser::standing(Tid tid) const {
  const auto found = threads_.find(tid);
  return found != threads_.end() && found->second.armed && found->second.standing;
}

}  // namespace causalctl::sim

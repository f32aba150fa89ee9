#include "controller/pause/ptrace_channel.h"

#include <algorithm>

namespace causalctl::pause {

void PtraceChannel::remove_thread(Tid tid) {
  threads_.erase(tid);
  asked_.erase(tid);
}

void PtraceChannel::set_debt(Tid tid, Nanoseconds debt_ns, Nanoseconds now_ns) {
  if (debt_ns <= 0) {  // the unpaid part counts as not asked for
    if (const auto asked = asked_.find(tid); asked != asked_.end()) asked->second = 0;
    return;
  }
  if (pausing(tid) || !threads_.contains(tid)) return;
  const Nanoseconds pause_ns = std::min(debt_ns, longest_ns_);
  asked_[tid] = pause_ns;
  last_ = {tid, now_ns};
  guardian_.pause(tid, pause_ns);
}

std::vector<Paid> PtraceChannel::collect(Nanoseconds /*now_ns*/) {
  std::vector<Paid> paid;
  for (const tracee::StopPause& pause : guardian_.finished_pauses()) {
    const auto asked = asked_.find(pause.tid);
    if (asked == asked_.end()) continue;  // the thread has ended since
    if (pause.end_ns > pause.start_ns) {
      totals_.asked_ns += asked->second;
      totals_.paid_ns += pause.end_ns - pause.start_ns;
      ++totals_.pauses;
      paid.push_back({pause.tid, pause.start_ns, pause.end_ns, 0});
      if (last_->at_ns < pause.end_ns) last_ = {pause.tid, pause.end_ns};
    } else {
      ++totals_.stale;
    }
    asked_.erase(asked);
  }
  return paid;
}

}  // namespace causalctl::pause

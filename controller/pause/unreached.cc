#include "controller/pause/unreached.h"

namespace causalctl::pause {

bool Unreached::poll(const ShotPoll& now) {
  const bool ran = now.cpu_ns > blocked_cpu_ns_ || now.cpu_ns == 0;
  if (now.runs && now.blocks && ran) {
    blocked_cpu_ns_ = now.cpu_ns;
    if (blocked_polls_++ == 0) blocked_since_ns_ = now.now_ns;
    if (blocked_polls_ >= kBlockedPolls && now.now_ns - blocked_since_ns_ >= kBlockedFor) {
      return true;
    }
  }
  if (now.blocks || now.pending) {
    spent_cpu_ns_ = -1;
    return false;
  }
  if (spent_cpu_ns_ < 0 || spent_count_ != now.event_count) {
    spent_count_ = now.event_count;
    spent_cpu_ns_ = now.cpu_ns;
  }
  return now.cpu_ns - spent_cpu_ns_ >= kRunSinceSpent;
}

}  // namespace causalctl::pause

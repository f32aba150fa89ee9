#include "controller/pause/unreached.h"

namespace causalctl::pause {

bool Unreached::look(const ShotLook& now) {
  if (now.runs && !now.blocks) blocked_looks_ = 0;
  if (now.runs && now.blocks) {
    if (blocked_looks_++ == 0) blocked_since_ns_ = now.now_ns;
    if (blocked_looks_ >= kBlockedLooks && now.now_ns - blocked_since_ns_ >= kBlockedFor)
      return true;
  }
  if (now.blocks || now.pending) {
    spent_.reset();
    return false;
  }
  if (!spent_ || spent_->event_count != now.event_count) spent_ = now;
  return now.cpu_ns - spent_->cpu_ns >= kRunSinceSpent;
}

}  // namespace causalctl::pause

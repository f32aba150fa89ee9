// The moments in which a quota of CPU time (cgroup) has stopped the target (rule 13 e of
// docs/virtual-time.md). Virtual time stands still in them: nothing that the program could do would
// make such a moment shorter, only rarer, and how much rarer follows from its CPU time
// (analysis/share_effect.h). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "controller/base/types.h"

namespace causalctl::causal {

class QuotaStops {
 public:
  // From now on a quota is used up in most of its periods, or no longer.
  void set_active(bool active) { active_ = active; }
  bool active() const { return active_; }

  // All threads of the target that wanted to run have waited in this time. Short waits on the way
  // to a core after a wake-up are not stops.
  void stopped(Nanoseconds from_ns, Nanoseconds until_ns) {
    if (!active_ || until_ns - from_ns <= kLongestOnTheWay) return;
    total_ns_ += until_ns - from_ns;
    latest_[next_++ % latest_.size()] = {from_ns, until_ns};
  }

  Nanoseconds total_ns() const { return total_ns_; }
  // Returns how much of a stretch of time the latest stops cover.
  Nanoseconds within(Nanoseconds from_ns, Nanoseconds until_ns) const {
    Nanoseconds sum_ns = 0;
    for (const Stop& stop : latest_) {
      sum_ns += std::max<Nanoseconds>(
          std::min(until_ns, stop.until_ns) - std::max(from_ns, stop.from_ns), 0);
    }
    return sum_ns;
  }

 private:
  static constexpr Nanoseconds kLongestOnTheWay = 200 * kMicrosecond;

  struct Stop {
    Nanoseconds from_ns = 0;
    Nanoseconds until_ns = 0;
  };
  bool active_ = false;
  Nanoseconds total_ns_ = 0;
  std::array<Stop, 32> latest_{};  // in no order
  std::size_t next_ = 0;
};

}  // namespace causalctl::causal

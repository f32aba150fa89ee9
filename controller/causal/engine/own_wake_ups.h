// On which cores the controller has run last, and when: what it takes from the target. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::causal {

class OwnWakeUps {
 public:
  void woke(Nanoseconds now_ns, std::uint32_t core) {
    latest_[count_++ % latest_.size()] = {now_ns, core};
  }
  std::size_t count() const { return count_; }

  // `stolen_ns`, up to `end_ns`, is the time for which another program had a thread's core. Returns
  // the controller's part of it. The controller gives a core back soon, so a longer time is partly
  // other programs'.
  Nanoseconds taken_ns(std::uint32_t core, Nanoseconds stolen_ns, Nanoseconds end_ns) const {
    if (stolen_ns == 0) return 0;
    const bool ours = std::any_of(latest_.begin(), latest_.end(), [&](const WakeUp& wake_up) {
      return wake_up.core == core && end_ns - stolen_ns <= wake_up.at_ns && wake_up.at_ns <= end_ns;
    });
    return ours ? std::min(stolen_ns, kLongestStep) : 0;
  }

 private:
  static constexpr Nanoseconds kLongestStep = kMillisecond / 2;
  struct WakeUp {
    Nanoseconds at_ns = 0;
    std::uint32_t core = 0;
  };
  std::array<WakeUp, 16> latest_{};  // in no order
  std::size_t count_ = 0;
};

}  // namespace causalctl::causal

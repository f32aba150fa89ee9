// The machine's clock for a thread that wakes up periodically beside threads that it must not
// disturb, or must disturb equally: every 25 ms it moves on to another core, in random order.
//
// A real-time thread wakes up where it last ran, whoever runs there, idle cores or not. On one core
// for long it would slow down one thread of the target and not the others. Preferring idle cores
// would be cheaper but not fair either: the fewer threads a treatment leaves running, the less it
// would cost. In turns, a running thread loses the same share of its time whatever the others do.
#pragma once

#include <random>
#include <vector>

#include "controller/base/clock.h"

namespace causalctl {

class CoreRotation final : public Clock {
 public:
  // For the calling thread, over the cores it is allowed at present.
  explicit CoreRotation(std::uint64_t seed);
  ~CoreRotation() override;  // back to all of them
  CoreRotation(const CoreRotation&) = delete;
  CoreRotation& operator=(const CoreRotation&) = delete;

  Nanoseconds now() const override { return monotonic_now(); }
  void sleep_until(Nanoseconds deadline_ns) override;

 private:
  void move_on();

  std::vector<int> cores_;  // in the order of this turn
  std::size_t next_ = 0;
  Nanoseconds moved_at_ns_ = 0;
  std::mt19937_64 random_;
};

}  // namespace causalctl

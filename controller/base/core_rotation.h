// The machine's clock for a thread that wakes up periodically beside threads that it must not
// disturb, or must disturb equally.
//
// A real-time thread wakes up where it last ran, whoever runs there, idle cores or not. On one core
// for long it would slow down one thread of the target and not the others. Where a core is idle
// while the target runs freely, that one is taken. Otherwise each is, in turn: every 25 ms the next
// one, in random order. Preferring what is idle at the moment would be cheaper but not fair: the
// fewer threads a treatment leaves running, the less it would cost.
#pragma once

#include <sched.h>

#include <random>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/idle_core.h"

namespace causalctl {

std::vector<int> cores_in(const cpu_set_t& set);
std::vector<CoreTimes> core_times_now();  // empty: /proc/stat cannot be read

class CoreRotation final : public Clock {
 public:
  // For the calling thread, over the cores it is allowed at present. In the second that follows the
  // target must run freely: it is then that an idle core is looked for.
  explicit CoreRotation(std::uint64_t seed);
  ~CoreRotation() override;  // back to all of them
  CoreRotation(const CoreRotation&) = delete;
  CoreRotation& operator=(const CoreRotation&) = delete;

  Nanoseconds now() const override { return monotonic_now(); }
  void sleep_until(Nanoseconds deadline_ns) override;
  std::uint32_t core() const override;

 private:
  void move_on(Nanoseconds now_ns);
  void find_idle_core(Nanoseconds now_ns);
  void move_to(int core);

  std::vector<int> cores_;  // in the order of this turn
  std::size_t next_ = 0;
  Nanoseconds moved_at_ns_ = 0;
  std::mt19937_64 random_;
  IdleCore idle_;
  std::optional<int> idle_core_;
  Nanoseconds polled_at_ns_;
};

}  // namespace causalctl

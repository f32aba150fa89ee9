// The machine's clock for a thread that wakes periodically beside threads that it must not disturb,
// or must disturb equally.
//
// A real-time thread wakes on the core where it last ran, even if another thread runs there and
// other cores are idle. If it stayed on one core, it would slow down one thread of the target and
// not the others. If a core is idle while the target runs freely, the caller stays on that one.
// Otherwise it moves every 25 ms to the next core, in random order. It would be cheaper to prefer a
// core that is idle at the moment, but that would bias experiments: the fewer threads a treatment
// leaves running, the less the caller would cost it.
#pragma once

#include <sched.h>

#include <random>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/idle_core.h"

namespace causalctl {

std::vector<int> cores_in(const cpu_set_t& set);
std::vector<CoreTimes> core_times_now();  // empty if /proc/stat cannot be read

class CoreRotation final : public Clock {
 public:
  // Moves the calling thread over the cores that it is allowed to use now. An idle core is looked
  // for in the first second, so the target must run freely during it.
  explicit CoreRotation(std::uint64_t seed);
  ~CoreRotation() override;  // lets the thread use all of them again
  CoreRotation(const CoreRotation&) = delete;
  CoreRotation& operator=(const CoreRotation&) = delete;

  Nanoseconds now() const override { return monotonic_now(); }
  void sleep_until(Nanoseconds deadline_ns) override;
  std::uint32_t core() const override;

 private:
  void move_on(Nanoseconds now_ns);
  void find_idle_core(Nanoseconds now_ns);
  void move_to(int core);

  std::vector<int> cores_;  // in the order of the current round
  std::size_t next_ = 0;
  Nanoseconds moved_at_ns_ = 0;
  std::mt19937_64 random_;
  IdleCore idle_;
  std::optional<int> idle_core_;
  Nanoseconds polled_at_ns_;
};

}  // namespace causalctl

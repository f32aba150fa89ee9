// Finds a core on which a helper that wakes often disturbs nobody. Pure: takes counters, returns a
// core.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl {

struct CoreTimes {  // times since boot, in ticks
  int core = 0;
  std::uint64_t idle = 0;  // includes waiting for a device
  std::uint64_t all = 0;
};

// The lines cpuN of /proc/stat; see proc(5).
std::vector<CoreTimes> parse_core_times(std::string_view stat);

// Returns the idle time of all `cores` together since boot, or nullopt if one is missing in `now`.
std::optional<Nanoseconds> idle_time(const std::vector<CoreTimes>& now,
                                     const std::vector<int>& cores, long ticks_per_second);

class IdleCore {
 public:
  explicit IdleCore(std::vector<CoreTimes> now) : before_(std::move(now)) {}

  // Returns the core to run on until the next poll, or nullopt if none is idle enough. The first
  // poll decides: if no core was idle then, one that is idle later may be idle because of the
  // caller.
  std::optional<int> poll(std::vector<CoreTimes> now);
  // True if no core was idle at the first poll; then no later poll finds one.
  bool hopeless() const { return there_is_one_ == false; }

 private:
  std::vector<CoreTimes> before_;
  std::optional<bool> there_is_one_;  // nullopt before the first poll
  int core_ = -1;
};

}  // namespace causalctl

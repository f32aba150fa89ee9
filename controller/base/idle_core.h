// A core on which a helper that wakes up often disturbs nobody. Pure: counters in, core out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl {

struct CoreTimes {  // since boot, in ticks
  int core = 0;
  std::uint64_t idle = 0;  // waiting for a device included
  std::uint64_t all = 0;
};

// The lines cpuN of /proc/stat; see proc(5).
std::vector<CoreTimes> parse_core_times(std::string_view stat);

// Of `cores` together, since boot. nullopt: not all are there.
std::optional<Nanoseconds> idle_time(const std::vector<CoreTimes>& now,
                                     const std::vector<int>& cores, long ticks_per_second);

class IdleCore {
 public:
  explicit IdleCore(std::vector<CoreTimes> now) : before_(std::move(now)) {}

  // The core to be on until the next poll; nullopt: none is idle enough. What the first poll finds
  // decides: where no core was idle then, one that is idle later may be so because of the caller.
  std::optional<int> poll(std::vector<CoreTimes> now);
  // No core was idle at the first poll: no other one will find any.
  bool hopeless() const { return there_is_one_ == false; }

 private:
  std::vector<CoreTimes> before_;
  std::optional<bool> there_is_one_;  // nullopt: not polled yet
  int core_ = -1;
};

}  // namespace causalctl

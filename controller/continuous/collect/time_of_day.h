// The time of day, which may be set while it is read. Pure.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "controller/base/types.h"

namespace causalctl::continuous {

// Takes the clock of the machine, since 1970, and one that only runs on (CLOCK_BOOTTIME), as they
// are read at one moment.
class TimeOfDay {
 public:
  TimeOfDay(Nanoseconds wall_ns, Nanoseconds running_ns)
      : first_ns_(wall_ns - running_ns), latest_ns_(first_ns_) {}

  // Returns what the time would be if the clock was not set since the last call; nullopt if it was
  // not set, or by no more than what a clock that is kept right by small steps may show.
  std::optional<Nanoseconds> was_set(Nanoseconds wall_ns, Nanoseconds running_ns) {
    const Nanoseconds before_ns = std::exchange(latest_ns_, wall_ns - running_ns);
    if (std::abs(latest_ns_ - before_ns) <= kSet) return std::nullopt;
    return before_ns + running_ns;
  }
  // Returns what the time is at the least, if the clock was right at the first or is right now:
  // what is old by this is old.
  Nanoseconds at_least(Nanoseconds wall_ns, Nanoseconds running_ns) const {
    return std::min(wall_ns, first_ns_ + running_ns);
  }

 private:
  static constexpr Nanoseconds kSet = 60 * kSecond;

  Nanoseconds first_ns_, latest_ns_;  // the one clock less the other
};

}  // namespace causalctl::continuous

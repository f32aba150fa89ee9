// How often the cores are sampled so that it costs no more than it may. Pure.
#pragma once

#include <algorithm>

#include "controller/base/types.h"

namespace causalctl::continuous {

inline constexpr Nanoseconds kShortestPeriod = kMillisecond / 2;
inline constexpr Nanoseconds kLongestPeriod = kSecond / 10;

// Returns the time from one sample of a busy core to the next, where each costs so much and may
// take this share of the core.
inline Nanoseconds period_for(Nanoseconds cost_ns, double budget) {
  const double period_ns = static_cast<double>(cost_ns) / budget;
  return static_cast<Nanoseconds>(std::clamp(period_ns, static_cast<double>(kShortestPeriod),
                                             static_cast<double>(kLongestPeriod)));
}

}  // namespace causalctl::continuous

// How often the cores are sampled so that it costs no more than it may. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

// Returns how many places are counted between two drains at the most: a place for each sample, also
// where periods are short and a drain is late.
inline std::uint32_t places_for(std::size_t cores, Nanoseconds drain_ns, Nanoseconds period_ns) {
  constexpr double kLeast = 1U << 12U, kMost = 1U << 18U;
  const double samples =
      static_cast<double>(cores) * static_cast<double>(drain_ns) / static_cast<double>(period_ns);
  return static_cast<std::uint32_t>(std::clamp(2 * samples, kLeast, kMost));
}

}  // namespace causalctl::continuous

// A length of time as people read it.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "controller/base/types.h"

namespace causalctl {

// "2 min 3 s", "1.5 s", "12.5 ms", "3.2 µs": in the unit in which it has three digits at most, also
// once it is rounded.
inline std::string duration(Nanoseconds time_ns) {
  const double seconds = static_cast<double>(time_ns) / kSecond;
  if (seconds >= 90) {
    const auto whole = static_cast<long long>(std::llround(seconds));
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  if (seconds >= 0.9995) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 0.9995e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} µs", seconds * 1e6);
}

}  // namespace causalctl

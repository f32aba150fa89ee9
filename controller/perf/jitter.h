// Periods of sampling are drawn at random, so that sampling does not lock onto the program's rhythm
// (DCPI §4.1.1). Pure.
#pragma once

#include <random>

#include "controller/base/types.h"

namespace causalctl::perf {

// Returns a period with this mean.
inline Nanoseconds jittered(Nanoseconds mean_ns, std::mt19937_64& random) {
  const double unit = static_cast<double>(random() >> 11) * 0x1.0p-53;
  return static_cast<Nanoseconds>(static_cast<double>(mean_ns) * (0.75 + 0.5 * unit));
}

}  // namespace causalctl::perf

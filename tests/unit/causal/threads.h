// Threads and cores that have names.
#pragma once

#include <cstdint>

#include "controller/base/types.h"

namespace causalctl::causal::test {

inline constexpr Tid kA = 1, kB = 2, kC = 3;
inline constexpr std::uint32_t kCpu0 = 0, kCpu1 = 1;

}  // namespace causalctl::causal::test

// Counts system calls of the target that were interrupted by our stops (docs/safety.md, "System
// calls").
#pragma once

#include <cstdint>

namespace causalctl {

struct StoppedCalls {
  std::uint64_t continued = 0;  // by the kernel, with the remaining time
  std::uint64_t repeated = 0;   // by us, from the beginning and with the full timeout
  std::uint64_t broken = 0;     // returned EINTR, which they would not have without us
  // Writes that wrote less than was asked for. The stop may have caused it, or the call may have
  // returned by itself (its descriptor does not block): the two cannot be told apart.
  std::uint64_t shortened = 0;

  StoppedCalls& operator+=(const StoppedCalls& other) {
    continued += other.continued;
    repeated += other.repeated;
    broken += other.broken;
    shortened += other.shortened;
    return *this;
  }
};

}  // namespace causalctl

// System calls of the target that stops of ours have met (docs/safety.md, "System calls").
#pragma once

#include <cstdint>
#include <tuple>

#include "controller/base/fields.h"

namespace causalctl {

struct StoppedCalls {
  std::uint64_t continued = 0;  // by the kernel, with the time that was left
  std::uint64_t repeated = 0;   // by us, from their beginning and with their full timeout
  std::uint64_t broken = 0;     // returned EINTR, which they would not have without us
  // Writes that returned with less written than was asked for: for the stop, or by themselves (a
  // descriptor that does not block), which cannot be told apart.
  std::uint64_t shortened = 0;

  static constexpr auto fields() {
    return std::tuple{
        Field("continued", &StoppedCalls::continued), Field("repeated", &StoppedCalls::repeated),
        Field("broken", &StoppedCalls::broken), Field("shortened", &StoppedCalls::shortened)};
  }
  StoppedCalls& operator+=(const StoppedCalls& other) {
    merge(*this, other);
    return *this;
  }
};

}  // namespace causalctl

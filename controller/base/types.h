// Defines the types that every layer shares.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>

namespace causalctl {

using Pid = pid_t;  // a process, as numbered in our own pid namespace
using Tid = pid_t;  // a thread, likewise; the kernel reuses numbers

// All times are nanoseconds of CLOCK_MONOTONIC, the clock of perf records and of the pause stub.
using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kMicrosecond = 1'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000'000'000;

// An address in the target's memory. It must never be dereferenced here.
using Address = std::uint64_t;

// Identifies a thread for as long as it lives: the kernel reuses tids, but serials are never
// reused.
struct ThreadId {
  Tid tid = 0;
  std::uint32_t serial = 0;
  auto operator<=>(const ThreadId&) const = default;
};

}  // namespace causalctl

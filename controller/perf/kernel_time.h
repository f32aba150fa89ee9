// The times in perf records and of BPF programs are those of the machine. In a time namespace
// CLOCK_MONOTONIC, as this process reads it, differs from them by an offset (time_namespaces(7)).
#pragma once

#include <cstdint>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl::perf {

// Returns a time of the kernel as this process reads the clock.
Nanoseconds own_time(std::uint64_t kernel_ns);

// Returns the offset of CLOCK_MONOTONIC in a text of /proc/PID/timens_offsets, or 0. Pure.
Nanoseconds parse_monotonic_offset(std::string_view text);

}  // namespace causalctl::perf

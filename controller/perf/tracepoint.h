// Finds the description of the tracepoint sched:sched_waking, and reads its raw data.
//
// It fires in the thread that wakes another one. Layout and id come from the `format` file of
// tracefs, because they differ between kernels. Sources: Documentation/trace/events.rst,
// include/linux/trace_events.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "controller/perf/record.h"

namespace causalctl::perf {

struct WakingFormat {
  std::uint64_t id = 0;
  std::size_t flags_offset = 0;  // common_flags, 1 byte
  std::size_t waker_offset = 0;  // common_pid, 4 bytes
  std::size_t woken_offset = 0;  // pid, 4 bytes
};

struct Waking {  // tids as the initial pid namespace numbers them
  Tid waker = 0;
  Tid woken = 0;
  WakeContext context = WakeContext::task;
};

std::optional<WakingFormat> parse_waking_format(std::string_view text);     // pure
std::optional<Waking> parse_waking(Bytes raw, const WakingFormat& format);  // pure

// nullopt with the `reason` and what to do.
std::optional<WakingFormat> find_waking_format(std::string& reason);

}  // namespace causalctl::perf

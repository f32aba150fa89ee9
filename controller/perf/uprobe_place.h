// A place in a file at which a uprobe is to stand, and the perf event that is one.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>

namespace causalctl::perf {

struct UprobePlace {
  std::string path;  // of the file, for us to open
  std::uint64_t offset = 0;
  std::uint64_t semaphore_offset = 0;  // of a USDT probe, in the file; 0: none
  std::uint32_t tag = 0;               // of the visits
};

// The errno of the kernel for an instruction on which no uprobe can stand. No header has it.
inline constexpr int kNotSupported = 524;

// An event of the PMU "uprobe" (Documentation/trace/uprobetracer.rst); sampling fields and clock
// are the caller's. Throws Error where the kernel has no such events, or the semaphore lies beyond
// 4 GB in its file.
perf_event_attr uprobe_attr(const UprobePlace& place);

}  // namespace causalctl::perf

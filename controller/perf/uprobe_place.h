// A place in a file at which a uprobe stands, and the perf event that places it.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace causalctl::perf {

struct UprobePlace {
  std::string path;  // path of the file, as we can open it
  std::uint64_t offset = 0;
  std::uint64_t semaphore_offset = 0;  // of a USDT probe, in the file; 0 if it has none
  std::uint32_t tag = 0;               // tag of the visits
};

// Perf events of uprobes that may be open: the kernel needs 50 ms to close each.
inline constexpr std::size_t kMostUprobeEvents = 64;

// The kernel's errno for an instruction on which no uprobe can stand. No header defines it.
inline constexpr int kNotSupported = 524;

// Makes an event of the PMU "uprobe" (Documentation/trace/uprobetracer.rst). The caller sets its
// sampling fields and clock. Throws Error if the kernel has no such events, or if the semaphore
// lies beyond 4 GB in its file.
perf_event_attr uprobe_attr(const UprobePlace& place);

}  // namespace causalctl::perf

// The tracepoints of system calls: syscalls:sys_enter_NAME in tracefs. Source:
// Documentation/trace/events.rst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/tracefs.h"

namespace causalctl::progress {

// Throws Error with a hint if no tracefs can be read, or if it has no tracepoints of system calls.
Tracefs tracefs_of_calls();

// Returns the tracepoint's id, or nullopt if there is no such system call. Also finds those that
// the kernel calls newNAME (newstat) or NAME64 (sendfile64). Throws Error if it may not be read.
std::optional<std::uint64_t> syscall_tracepoint(const std::string& tracefs,
                                                const std::string& name);

// The tracepoint of the return from a system call: its id, and where its data has the result, 64
// bits.
struct CallResult {
  std::uint64_t id = 0;
  std::size_t offset = 0;
};
// Returns nullopt as syscall_tracepoint() does, or if the tracepoint tells no result.
std::optional<CallResult> syscall_result(const std::string& tracefs, const std::string& name);

std::vector<std::string> syscall_names(const std::string& tracefs);

}  // namespace causalctl::progress

// System-call tracepoints: syscalls:sys_enter_NAME in tracefs.
// Source: Documentation/trace/events.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/tracefs.h"

namespace causalctl::progress {

// Throws Error with a hint where there is none that we may read, or none with system calls.
Tracefs tracefs_of_calls();

// The tracepoint's id, nullopt: no such system call. Also finds what the kernel calls newNAME
// (newstat) or NAME64 (sendfile64). Throws Error where it may not be read.
std::optional<std::uint64_t> syscall_tracepoint(const std::string& tracefs,
                                                const std::string& name);
std::vector<std::string> syscall_names(const std::string& tracefs);

}  // namespace causalctl::progress

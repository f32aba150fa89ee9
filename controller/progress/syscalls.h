// System-call tracepoints: syscalls:sys_enter_NAME in tracefs.
// Source: Documentation/trace/events.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causalctl::progress {

// Pure: the mount point of tracefs in a text of /proc/self/mounts, "" if none. debugfs brings
// tracefs with it, under tracing/.
std::string tracefs_in_mounts(std::string_view mounts);

// Throws Error with a hint where tracefs is not mounted or may not be read.
std::string find_tracefs();

// The tracepoint's id, nullopt: no such system call. Also finds what the kernel calls newNAME
// (newstat) or NAME64 (sendfile64). Throws Error where it may not be read.
std::optional<std::uint64_t> syscall_tracepoint(const std::string& tracefs,
                                                const std::string& name);
std::vector<std::string> syscall_names(const std::string& tracefs);

}  // namespace causalctl::progress

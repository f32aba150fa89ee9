// Finds the file system in which the kernel describes its tracepoints. Sources:
// Documentation/trace/events.rst; fsopen(2), fsmount(2).
#pragma once

#include <optional>
#include <string>

namespace causalctl {

struct Tracefs {
  std::string path;
  bool is_ours = false;  // mounted by us, for us
};

// Returns the mount point of tracefs in a text of /proc/self/mounts, or "". debugfs contains
// tracefs in its folder tracing/. Pure.
std::string tracefs_in_mounts(std::string mounts);

// Returns where tracefs is mounted. If it is not, or may not be read there, we make a mount of our
// own if we have CAP_SYS_ADMIN: read-only and in no folder, so that no other process sees it and it
// ends with this process. Otherwise returns nullopt, and `problem` says why and what to do.
std::optional<Tracefs> find_tracefs(std::string& problem);

}  // namespace causalctl

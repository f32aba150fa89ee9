// The file system in which the kernel describes its tracepoints.
// Sources: Documentation/trace/events.rst; fsopen(2), fsmount(2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace causalctl {

struct Tracefs {
  std::string path;
  bool is_ours = false;  // mounted by us, for us
};

// Pure: the mount point of tracefs in a text of /proc/self/mounts, "" if none. debugfs brings
// tracefs with it, under tracing/.
std::string tracefs_in_mounts(std::string_view mounts);

// Where it is mounted; where it is not, or may not be read there, a mount of our own, if we may
// make one (CAP_SYS_ADMIN): read-only, in no folder, so that nobody else sees it, and gone when
// this process ends. nullopt with the `problem` and what to do.
std::optional<Tracefs> find_tracefs(std::string& problem);

}  // namespace causalctl

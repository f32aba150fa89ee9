// Whether a cgroup's freezer has frozen a process: then no thread of it can be stopped, and nothing
// undone, before it is thawed. Sources: Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst,
// cgroup-v2.rst, cgroups(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl::tracee {

struct FreezerPaths {  // of a process, below the root of the hierarchy; nullopt: none there
  std::optional<std::string> version_1;
  std::optional<std::string> version_2;
};

FreezerPaths parse_freezer_paths(std::string_view text);  // of /proc/PID/cgroup; pure

// False too where no cgroup file system is mounted that tells.
bool is_frozen(Pid pid);

}  // namespace causalctl::tracee

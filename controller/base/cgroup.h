// Where a process is in the hierarchies of control groups. Sources: cgroups(7), proc_pid_cgroup(5).
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace causalctl {

// Paths of a process below the root of each hierarchy; nullopt if it has none there.
struct CgroupPaths {
  std::optional<std::string> version_1;
  std::optional<std::string> version_2;
};

// `text` is that of /proc/PID/cgroup. `controller` names the hierarchy of version 1 that is meant.
CgroupPaths cgroup_paths(std::string_view text, std::string_view controller);

// Returns whether `word` is in `list`, whose words are separated by commas.
bool is_in_list(std::string_view word, std::string_view list);

}  // namespace causalctl

// Where a process is in the hierarchies of control groups. Sources: cgroups(7), proc_pid_cgroup(5).
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace causalctl {

struct CgroupPaths {  // of a process, below the root of the hierarchy; nullopt: none there
  std::optional<std::string> version_1;
  std::optional<std::string> version_2;
};

// `text`: of /proc/PID/cgroup. Version 1: of the hierarchy that has `controller`.
CgroupPaths cgroup_paths(std::string_view text, std::string_view controller);

// Whether `word` is one of those that `list` has, with commas between them.
bool is_in_list(std::string_view word, std::string_view list);

}  // namespace causalctl

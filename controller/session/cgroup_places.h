// Finds control groups by what a user calls them, and the processes in them.
//
// A control group (cgroup) is a folder of a hierarchy. Version 2 has one hierarchy; version 1 has
// one for each controller, and a process is at one place in each. Sources: cgroups(7),
// proc_pid_cgroup(5), proc_pid_mountinfo(5), Documentation/admin-guide/cgroup-v2.rst; for the
// cgroups of units systemd.resource-control(5) and systemd's "Control Group APIs and Delegation".
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::session {

struct CgroupHierarchy {
  std::string place;    // where it is mounted
  std::string root;     // the cgroup that is seen there, as /proc/PID/cgroup has it: "/" mostly
  std::string options;  // of its file system, which name the controllers of version 1
  bool is_version_2 = false;

  bool operator==(const CgroupHierarchy&) const = default;
};

struct Cgroup {
  CgroupHierarchy hierarchy;
  std::string path;  // as /proc/PID/cgroup has it

  std::string folder() const;
  bool operator==(const Cgroup&) const = default;
};

// Returns the hierarchies that are mounted: that of version 2, then systemd's own, then the others.
// `mountinfo` is the text of /proc/self/mountinfo. Pure.
std::vector<CgroupHierarchy> parse_hierarchies(std::string_view mountinfo);

// Returns the cgroups that a path can mean, whether they exist or not: one if the path leads below
// the place of a hierarchy, from / or from /sys/fs/cgroup; otherwise one in each hierarchy. Pure.
std::vector<Cgroup> cgroups_meant(std::string_view path,
                                  const std::vector<CgroupHierarchy>& hierarchies);

// Returns the same, given the place to which symbolic links lead, if there are any in the path: in
// version 1 /sys/fs/cgroup/cpu is mostly a link to /sys/fs/cgroup/cpu,cpuacct.
std::vector<Cgroup> cgroups_called(std::string_view path,
                                   const std::vector<CgroupHierarchy>& hierarchies);

// Returns whether a process is in the cgroup or in one below it. `text` is that of
// /proc/PID/cgroup. Pure.
bool is_in_cgroup(std::string_view text, const Cgroup& cgroup);
// Returns whether a process is in the cgroup of such a unit, which is directly below one of
// `parents`, or in one below it. Pure.
bool is_in_unit(std::string_view text, const std::string& glob,
                const std::set<std::string>& parents);

// Returns the name of a unit: "nginx" means "nginx.service". Pure.
std::string unit_name(std::string_view unit);
// Returns the glob that the names of a unit's cgroups fulfil: "getty@.service" means all instances
// of a template. Pure.
std::string unit_glob(std::string_view name);
// Returns whether units of this kind, such as timers, have no processes and so no cgroup. Pure.
bool is_unit_without_cgroup(std::string_view unit);

// Returns those of a unit's cgroups that belong to one manager: of the system if there are any,
// otherwise of users, otherwise of containers. A container may have a systemd of its own, whose
// units have the same names. Pure.
std::vector<Cgroup> of_nearest_manager(std::vector<Cgroup> cgroups);
// Returns the paths of those that have their name in common with one at another path, in ascending
// order. Pure.
std::vector<std::string> paths_of_namesakes(const std::vector<Cgroup>& cgroups);

std::vector<CgroupHierarchy> hierarchies();
bool is_there(const Cgroup& cgroup);
// Returns whether its processes are listed in a cgroup above it only (cgroup.type).
bool is_threaded(const Cgroup& cgroup);
// Returns the processes in the cgroups and below them, in ascending order, each once. Those of
// another PID namespace, which have no number here, are not among them.
std::vector<Pid> processes_in(const std::vector<Cgroup>& cgroups);
std::vector<Cgroup> cgroups_of_unit(const std::string& glob);  // not those below one of them
std::vector<std::string> unit_names();                         // of units that have a cgroup
std::vector<std::string> cgroup_paths_here();                  // of all cgroups

}  // namespace causalctl::session

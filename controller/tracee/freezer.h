// Whether a cgroup's freezer has frozen a process. Then no thread of it can be stopped, and nothing
// can be undone, before it is thawed. Sources:
// Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst, cgroup-v2.rst, cgroups(7).
#pragma once

#include <string>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::tracee {

// A file that tells whether the control group of a process is frozen.
struct FreezerFile {
  std::string path;
  bool is_version_2 = false;
};

// Returns one for each hierarchy that is mounted and has a freezer; none if the process is gone.
std::vector<FreezerFile> freezer_files(Pid pid);
bool says_frozen(const FreezerFile& file);

// Returns false, too, where no cgroup file system that tells is mounted.
bool is_frozen(Pid pid);

}  // namespace causalctl::tracee

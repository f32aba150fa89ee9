// Whether a cgroup's freezer has frozen a process: then no thread of it can be stopped, and nothing
// undone, before it is thawed. Sources: Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst,
// cgroup-v2.rst, cgroups(7).
#pragma once

#include "controller/base/types.h"

namespace causalctl::tracee {

// False too where no cgroup file system is mounted that tells.
bool is_frozen(Pid pid);

}  // namespace causalctl::tracee

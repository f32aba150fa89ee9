// Whether a cgroup's freezer has frozen a process. Then no thread of it can be stopped, and nothing
// can be undone, before it is thawed. Sources:
// Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst, cgroup-v2.rst, cgroups(7).
#pragma once

#include "controller/base/types.h"

namespace causalctl::tracee {

// Returns false, too, where no cgroup file system that tells is mounted.
bool is_frozen(Pid pid);

}  // namespace causalctl::tracee

// May this process be a target? Answered from /proc, without stopping anything.
#pragma once

#include "controller/base/types.h"

namespace causalctl::tracee {

// Throws Error (TargetGone, UsageError) naming what forbids it and what to do. `controller` is the
// process that asks, which cannot be its own target.
void check_adoptable(Pid pid, Pid controller);

// The same of the program that a process executes.
void check_64_bit(Pid pid);

}  // namespace causalctl::tracee

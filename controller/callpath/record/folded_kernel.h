// Leaves the kernel's part out of the paths of a recording. Pure.
#pragma once

#include "controller/callpath/record/recording.h"

namespace causalctl::callpath {

// Whether paths of the recording have a kernel's part where they lead into the kernel.
bool has_kernel_part(const Recording& recording);

// Returns the share of the CPU time that stands in the kernel's part of paths; 0 if there is none.
double kernel_share(const Recording& recording);

// Gives what a kernel's function has to the user code above it, so that no path has a kernel's
// part.
void fold_kernel(Recording& recording);

}  // namespace causalctl::callpath

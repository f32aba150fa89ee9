// What one hit of a hardware breakpoint costs the thread that runs into it: the trap, and the
// record of it. About 1 us on real hardware, ten times as much on virtual machines.
#pragma once

#include "controller/base/types.h"

namespace causalctl::progress {

// Measured on this thread, in a few milliseconds; 0 where no breakpoint can be armed here.
Nanoseconds measure_visit_cost();

}  // namespace causalctl::progress

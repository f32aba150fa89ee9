// `causalctl points PID` lists what could serve as a progress point of this process, as SPECs to
// paste: its USDT probes, and the functions and lines in which two seconds of samples fall.
#pragma once

#include "controller/base/types.h"

namespace causalctl::commands {

// Returns the exit code. Throws TargetGone, Error.
int run_points(Pid target);

}  // namespace causalctl::commands

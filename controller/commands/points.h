// `causalctl points PID`: what could serve as a progress point of this process, written as SPECs to
// paste: its USDT probes, and the functions and lines in which it was found by two seconds of
// sampling.
#pragma once

#include "controller/base/types.h"

namespace causalctl::commands {

// Returns the exit code. Throws TargetGone, Error.
int run_points(Pid target);

}  // namespace causalctl::commands

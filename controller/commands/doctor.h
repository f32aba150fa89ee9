// `causalctl doctor [PID]`: what works on this machine and against that process, what does not, and
// how to enable it. What can be tried is tried, on this process. Of the target it reads in /proc,
// and takes samples for half a second; nothing is put into it.
#pragma once

#include <optional>

#include "controller/base/types.h"

namespace causalctl::commands {

// Prints a table. 0: a profile is possible; 1: it is not; 3: no such process.
int run_doctor(std::optional<Pid> target);

}  // namespace causalctl::commands

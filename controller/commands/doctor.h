// `causalctl doctor [PID]`: what works on this machine and against that process, what does not, and
// how to enable it. Changes nothing: events are opened on this process only, the target is only
// read about in /proc.
#pragma once

#include <optional>

#include "controller/base/types.h"

namespace causalctl::commands {

// Prints a table. 0: a profile is possible; 1: it is not; 3: no such process.
int run_doctor(std::optional<Pid> target);

}  // namespace causalctl::commands

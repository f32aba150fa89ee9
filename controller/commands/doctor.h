// `causalctl doctor [PID]` tells what works on this machine and with that process, what does not,
// and how to enable it. It tries what it can on causalctl itself. It reads about the target in
// /proc and samples it for half a second, and puts nothing into it.
#pragma once

#include <optional>

#include "controller/base/types.h"

namespace causalctl::commands {

// Prints a table. Returns 0 if a profile is possible, 1 if it is not, 3 if there is no such
// process.
int run_doctor(std::optional<Pid> target);

}  // namespace causalctl::commands

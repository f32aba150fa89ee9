// Starts the program of `causalctl run` and asks it to end.
#pragma once

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::commands {

tracee::Launch launch_of(const config::Target& target);

// Lets a suspended program run until its loader is done, before the program's first instruction, so
// that code in its libraries can be named. If the program cannot be suspended there, leaves it
// where it is, with a message. Throws TargetGone if it ends before that, as when a library is
// missing.
void load_libraries(tracee::Guardian& guardian);

// Sends SIGTERM and waits some seconds. Leaves a program that goes on alone, with a message.
void end_program(Pid pid, tracee::Guardian& guardian);

}  // namespace causalctl::commands

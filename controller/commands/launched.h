// Starts the program of `causalctl run` and asks it to end.
#pragma once

#include <functional>

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::commands {

// Starts the program, suspended, calls the work with it, and then asks it to end. If the work ends
// by an exception while the program is still suspended, the guardian kills it.
ExitCode with_program(const config::Target& target,
                      const std::function<ExitCode(Pid, tracee::Guardian&)>& work);

tracee::Launch launch_of(const config::Target& target);

// Lets a suspended program run until its loader is done, before the program's first instruction, so
// that code in its libraries can be named. If the program cannot be suspended there, leaves it
// where it is, with a message. Throws TargetGone if it ends before that, as when a library is
// missing.
void load_libraries(tracee::Guardian& guardian);

// Sends SIGTERM and waits some seconds. Leaves a program that goes on alone, with a message.
void end_program(Pid pid, tracee::Guardian& guardian);

}  // namespace causalctl::commands

// The program that `causalctl run` starts: how it is started, and asked to end.
#pragma once

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::commands {

tracee::Launch launch_of(const config::Target& target);

// Lets a suspended program run until its loader is done, before its own first instruction, so that
// what is in its libraries can be named. Where it cannot be suspended there it is left where it is,
// with a message. Throws TargetGone when it ends on the way: a library is missing, say.
void load_libraries(tracee::Guardian& guardian);

// SIGTERM, and some seconds of patience; a program that goes on is left alone, with a message.
void end_program(Pid pid, tracee::Guardian& guardian);

}  // namespace causalctl::commands

// The program that `causalctl run` starts: how it is started, and asked to end.
#pragma once

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/target/guardian.h"

namespace causalctl::commands {

target::Launch launch_of(const config::Target& target);

// SIGTERM, and some seconds of patience; a program that goes on is left alone, with a message.
void end_program(Pid pid, target::Guardian& guardian);

}  // namespace causalctl::commands

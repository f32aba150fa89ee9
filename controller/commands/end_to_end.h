// `causalctl run --end-to-end -- CMD` runs the program again and again. Each run is one experiment
// and one unit of work (causal/experiments/execution.h).
#pragma once

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/commands/options.h"

namespace causalctl::commands {

// Runs the program until --duration, --until-certain or Ctrl-C; the run under way is finished. A
// second Ctrl-C, or the first one while causalctl waits for the program, ends that run, too.
// REQUIRES: config.target.command is set.
ExitCode run_end_to_end(const config::Config& config, const ConsoleOptions& console);

}  // namespace causalctl::commands

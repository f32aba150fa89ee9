// `causalctl run --end-to-end -- CMD`: the program is run again and again, each run is one
// experiment and one unit of work (causal/experiments/execution.h).
#pragma once

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/commands/options.h"

namespace causalctl::commands {

// REQUIRES: config.target.command. Ends by --duration, --until-certain or Ctrl-C, after the run
// that is under way; a second Ctrl-C, or the first while the program is waited for, ends it too.
ExitCode run_end_to_end(const config::Config& config, const ConsoleOptions& console);

}  // namespace causalctl::commands

// What attach and run share: a causal profile of a target that the guardian has adopted.
#pragma once

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/commands/options.h"
#include "controller/target/guardian.h"

namespace causalctl::commands {

// Attaches, experiments, detaches, prints the report on standard output. `started`: called once all
// is in place, to let a launched program run. Every way out of here leaves the target clean.
ExitCode profile(const config::Config& config, Pid target, target::Guardian& guardian,
                 const ConsoleOptions& console, void (*started)(target::Guardian&));

}  // namespace causalctl::commands

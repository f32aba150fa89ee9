// What attach and run share: a causal profile of a target that the guardian has adopted.
#pragma once

#include <functional>

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/causal/run.h"
#include "controller/causal/stream.h"
#include "controller/commands/options.h"
#include "controller/target/guardian.h"

namespace causalctl::commands {

// What is done with a target that is watched, and whose threads can be paused.
struct Work {
  // Before the target is touched; what is known of the run by then. May throw.
  std::function<void(const causal::Run&)> prepare;
  // Lets a launched program run, makes experiments, fills the run.
  std::function<void(const causal::StreamParts&, const causal::RunHooks&, causal::Run&)>
      experiments;
};

// Attaches, has the work done, detaches. Every way out of here leaves the target clean.
causal::Run watch_target(const config::Config& config, Pid target, target::Guardian& guardian,
                         const ConsoleOptions& console, const Work& work);

// Attaches, experiments, detaches, prints the report on standard output. `started`: called once all
// is in place, to let a launched program run.
ExitCode profile(const config::Config& config, Pid target, target::Guardian& guardian,
                 const ConsoleOptions& console, void (*started)(target::Guardian&));

}  // namespace causalctl::commands

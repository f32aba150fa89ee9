// A program is executed again and again; each execution is one experiment with one unit of work
// (execution.h). The first one is no experiment: it shows which code is hot, and how the program
// ends.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/causal/experiments/execution.h"
#include "controller/causal/experiments/status.h"
#include "controller/causal/record/experiment.h"
#include "controller/causal/record/log.h"

namespace causalctl::causal {

struct Execution {
  ExitCode code = ExitCode::ok;  // of the process that watched; it has said why
  Run run;
  int status = 0;  // of the program, as wait(2) gives it
};

struct EndToEndHooks {
  // Executes the program once, from its start to its end. `pause_cost_ns`: of one pause, where an
  // earlier execution has measured it.
  std::function<Execution(const config::Config&, const PlannedExecution&,
                          std::optional<Nanoseconds> pause_cost_ns)>
      execute;
  std::function<void(const Status&)> show;  // before each execution
  std::function<int()> interrupts;          // how often the user asked for the end
  std::string config_json;                  // for the log
};

// Ends by --duration, --until-certain or an interrupt, after the execution that is under way.
// Returns the code of the last process that watched. Fills `run`, and all of its log but the end;
// run.ended is false where the first execution has failed. Throws Error where the program cannot be
// profiled so, TargetGone where the user ended it before the first experiment.
ExitCode run_end_to_end(const config::Config& config, const EndToEndHooks& hooks, LogWriter& log,
                        Run& run);

}  // namespace causalctl::causal

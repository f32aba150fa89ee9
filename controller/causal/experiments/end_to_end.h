// Executes a program again and again. Each execution is one experiment with one unit of work
// (execution.h), except the first one, which shows which code is hot and how the program ends.
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
  ExitCode code = ExitCode::ok;  // of the process that watched, which has told the user the reason
  Run run;
  int status = 0;  // status of the program, as wait(2) gives it
};

struct EndToEndHooks {
  // Executes the program once, from its start to its end. `pause_cost_ns` is the cost of one pause,
  // if an earlier execution has measured it.
  std::function<Execution(const config::Config&, const PlannedExecution&,
                          std::optional<Nanoseconds> pause_cost_ns)>
      execute;
  std::function<void(const Status&)> show;  // called before each execution
  std::function<int()> interrupts;          // returns how often the user asked for the end
  std::string config_json;                  // for the log
};

// Executes the program until --duration, --until-certain or an interrupt; the execution under way
// is finished. Returns the code of the last process that watched. Fills `run`, and all of its log
// but the end; run.ended is false if the first execution failed. Throws Error if the program cannot
// be profiled in this way, and TargetGone if the user ended it before the first experiment.
ExitCode run_end_to_end(const config::Config& config, const EndToEndHooks& hooks, LogWriter& log,
                        Run& run);

}  // namespace causalctl::causal

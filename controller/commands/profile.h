// What attach and run share: they profile a target that the guardian has adopted.
#pragma once

#include <functional>
#include <optional>

#include "config/config.h"
#include "controller/base/error.h"
#include "controller/base/types.h"
#include "controller/causal/engine/engine_parts.h"
#include "controller/causal/experiments/experiment_loop.h"
#include "controller/causal/record/log.h"
#include "controller/commands/options.h"
#include "controller/symbols/async_symbolizer.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::commands {

// The work with a target that is watched, and whose threads can be paused.
struct Work {
  std::function<void()> prepare;  // called before the target is touched; may throw; may be empty
  // The cost of one pause, if an earlier run of the program has measured it.
  std::optional<Nanoseconds> pause_cost_ns;
  symbols::Haste symbolizing = symbols::Haste::low_priority;
  // Makes experiments and fills the run.
  std::function<void(const causal::EngineParts&, const causal::RunHooks&, causal::Run&)>
      experiments;
};

// Attaches, calls the work, in which a suspended program goes on, and detaches. Every way out of
// this function leaves the target clean.
causal::Run watch_target(const config::Config& config, Pid target, tracee::Guardian& guardian,
                         const ConsoleOptions& console, const Work& work);

// Writes the end of the log, and the report to standard output. After the report it throws Error if
// the target is not as it was before, or if the log could not be written.
void conclude(causal::Run& run, causal::LogWriter& log, const config::Config& config,
              const ConsoleOptions& console);

// Throws Error if there is no result (causal/analysis/silence.h). Call it after the report.
void require_result(const causal::Run& run);

// Says, below a text report, which commands show more of what it is about.
void tell_how_to_read_on(const config::Config& config);

// Attaches, makes experiments, detaches, and prints the report on standard output.
ExitCode profile(const config::Config& config, Pid target, tracee::Guardian& guardian,
                 const ConsoleOptions& console);

// `causalctl run --end-to-end -- CMD`: the program is run again and again, each run is one
// experiment and one unit of work (causal/experiments/execution.h). REQUIRES:
// config.target.command. Ends by --duration, --until-certain or Ctrl-C, after the run that is under
// way; a second Ctrl-C, or the first while the program is waited for, ends it too.
ExitCode run_end_to_end(const config::Config& config, const ConsoleOptions& console);

}  // namespace causalctl::commands

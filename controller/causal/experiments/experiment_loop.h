// The experiment loop (Coz section 3.2): survey, choose the sampling period, then experiment after
// experiment until the time, the budget, the user or the target ends it.
#pragma once

#include <functional>

#include "controller/causal/engine/engine.h"
#include "controller/causal/experiments/settings.h"
#include "controller/causal/experiments/status.h"
#include "controller/causal/record/experiment.h"
#include "controller/causal/record/log.h"

namespace causalctl::causal {

struct RunHooks {
  std::function<void(const Status&)> show;   // often; must be cheap
  std::function<int()> interrupts;           // how often the user asked for the end
  std::function<bool()> first_thread_ended;  // for good, and others go on; may be empty
  // Once all threads are followed: a program that is suspended until then executes no other one
  // unseen.
  std::function<void()> followed;
};

// Does the work and fills `run` (all but what is known only after the detach: digest; and what was
// known before). Each experiment is appended to the log as it ends.
void run_experiments(const Settings& settings, const EngineParts& parts, const RunHooks& hooks,
                     LogWriter& log, Run& run);

}  // namespace causalctl::causal

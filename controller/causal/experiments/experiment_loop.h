// The experiment loop (Coz section 3.2): it surveys the target, chooses the sampling period, and
// then makes experiments until the time, the budget, the user or the target ends it.
#pragma once

#include <functional>

#include "controller/causal/engine/engine.h"
#include "controller/causal/experiments/settings.h"
#include "controller/causal/experiments/status.h"
#include "controller/causal/record/experiment.h"
#include "controller/causal/record/log.h"

namespace causalctl::causal {

struct RunHooks {
  std::function<void(const Status&)> show;  // called often, so it must be cheap
  std::function<int()> interrupts;          // returns how often the user asked for the end
  // Returns whether the first thread has ended although others go on; may be empty.
  std::function<bool()> first_thread_ended;
  // Called when all threads are followed. A program that is suspended until then cannot execute
  // another one unseen.
  std::function<void()> followed;
};

// Makes the experiments and fills `run`, except for what was known before and for the digest, which
// is known only after the detach. Appends each experiment to the log as it ends.
void run_experiments(const Settings& settings, const EngineParts& parts, const RunHooks& hooks,
                     LogWriter& log, Run& run);

}  // namespace causalctl::causal

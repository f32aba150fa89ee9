// What is measured between the survey and the first experiment: what sampling costs, whether
// progress comes at its own pace, and what a pause costs.
#pragma once

#include <functional>
#include <optional>

#include "controller/causal/engine/engine.h"
#include "controller/causal/engine/sampling_limit.h"
#include "controller/causal/experiments/settings.h"
#include "controller/causal/record/log.h"

namespace causalctl::causal {

struct Beginning {
  Nanoseconds at_ns = 0;
  std::optional<Nanoseconds> idle_ns;  // of the target's cores by then; nullopt: not known
};
Beginning beginning_of(const EngineParts& parts);  // now

// Leaves sampling on at the chosen period, and what was found in `run` and its log. `since`: when
// the target began to be watched; `stop` ends it early.
void set_up(const Settings& settings, const EngineParts& parts, Engine& engine,
            const Beginning& since, LogWriter& log, Run& run, SamplingLimit& limit,
            const std::function<bool()>& stop);

}  // namespace causalctl::causal

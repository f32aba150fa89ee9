// Measures, between the survey and the first experiment, what sampling costs, whether progress
// comes at its own pace, and what a pause costs.
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
  std::optional<Nanoseconds> idle_ns;  // idle time of the target's cores; nullopt if not known
};
Beginning beginning_of(const EngineParts& parts);

// Leaves sampling on at the chosen period, and writes what it found into `run` and its log. `since`
// is when the target began to be watched; `copies_stacks` tells whether samples do. `stop` returns
// true to end it early.
void set_up(const Settings& settings, const EngineParts& parts, Engine& engine,
            const Beginning& since, LogWriter& log, Run& run, SamplingLimit& limit,
            bool copies_stacks, const std::function<bool()>& stop);

}  // namespace causalctl::causal

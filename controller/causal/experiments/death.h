// Describes how a target ended during a run.
#pragma once

#include "controller/causal/engine/engine.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns how the target ended, with the latest pause before that if it was within a second. The
// signal is not known before the target's parent has waited for it.
Death death_of(const EngineParts& parts, const Engine& engine);

}  // namespace causalctl::causal

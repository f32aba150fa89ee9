// How a target came to its end during a run.
#pragma once

#include "controller/causal/engine/engine.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// With the latest pause before the end, if there was one within a second. The signal is not known
// before the target's parent has waited for it.
Death death_of(const EngineParts& parts, const Engine& engine);

}  // namespace causalctl::causal

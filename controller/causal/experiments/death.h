// How a target came to its end during a run.
#pragma once

#include "controller/causal/engine/stream.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// With the latest pause before the end, if there was one within a second. The signal is not known
// before the target's parent has waited for it.
Death death_of(const StreamParts& parts, const Stream& stream);

}  // namespace causalctl::causal

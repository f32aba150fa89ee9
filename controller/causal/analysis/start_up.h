// Knows the functions that only start a program or a thread, by their names. Pure.
#pragma once

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns whether the unit is in a function of a run-time or a library that runs once for each
// process or thread and is below every sample of it on the stack.
bool is_start_up(const UnitSamples& samples);

}  // namespace causalctl::causal

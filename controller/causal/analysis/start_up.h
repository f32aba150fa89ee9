// Knows the functions that only start a program or a thread, by their names. Pure.
#pragma once

#include <string_view>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns whether the unit is in a function of a run-time or a library that runs once for each
// process or thread and is below every sample of it on the stack.
bool is_start_up(const UnitSamples& samples);

// The same of any function, by its name alone.
bool is_start_up(std::string_view function);

}  // namespace causalctl::causal

// Measures what a pause costs its thread besides the time in the stub: the interrupt that arms it,
// the signal frame, context switches, cold caches (docs/calibration.md, "What a pause costs").
#pragma once

#include <optional>

#include "controller/causal/experiments/phases.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Measures on the running target, in phases with and without a uniform pause, in which all threads
// stand still for the same part of the time. Nothing is faster then, so the pauses cause whatever
// progress is lost in virtual time. The loss is divided among the pauses of one thread. Returns
// nullopt if there are too few visits to tell.
std::optional<PauseCost> measure_pause_cost(const Calibration& with, Nanoseconds budget_ns);

}  // namespace causalctl::causal

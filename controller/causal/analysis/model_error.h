// The error of virtual time itself: by how much a prediction is off even if sampling, pauses and
// their cost are without error. It has three causes: interactions between threads that no wake-up
// shows, late pauses, and units that are shorter than what a sample is worth. More experiments do
// not make it smaller. It is known from the simulator, where the truth is known
// (docs/virtual-time.md, "How far the model itself can be trusted"). Twins of live programs
// (docs/truth.md) test the intervals that contain it. Pure.
#pragma once

#include "controller/causal/analysis/beside_strangers.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns the standard error, as a part of the period, that sharing the cores with strangers adds
// at a speedup of 100 %; 0 if sharing does not matter. It grows as the root of the speedup.
double error_beside(const CoresShared& shared);

// Returns the standard error of the experiment's effective time; 0 for a baseline.
Nanoseconds model_error_of(const Experiment& experiment);

}  // namespace causalctl::causal

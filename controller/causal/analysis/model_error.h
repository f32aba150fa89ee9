// What virtual time itself leaves open: by how much a prediction is off though sampling, pauses and
// their cost were without error. Interactions between threads that no wake-up shows, lateness, and
// units that are shorter than a sample's worth falsify a little of everything, and more experiments
// do not make it less. It is known from the simulator only, where the truth is
// (docs/virtual-time.md, "How far the model itself can be trusted"); live programs with twins
// (docs/truth.md) say whether the intervals that contain it hold. Pure.
#pragma once

#include "controller/causal/analysis/beside_strangers.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Of the period, at 100 %, as a standard error: what sharing the cores with strangers adds; 0 where
// that does not matter. It grows as the root of the speedup.
double error_beside(const CoresShared& shared);

// The standard error of the experiment's effective time; 0 for a baseline.
Nanoseconds model_error_of(const Experiment& experiment);

}  // namespace causalctl::causal

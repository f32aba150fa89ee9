// What the engine counts of cores all along, at one moment: an experiment has the difference of
// two.
#pragma once

#include "controller/causal/engine/engine.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct CoreReading {
  Nanoseconds core_wait_ns = 0;
  Nanoseconds foreign_wait_ns = 0;
  CoreTotals totals;
};

CoreReading read_cores(const Engine& engine);  // now

// What there was between the two.
void fill_in_cores(Experiment& experiment, const CoreReading& before, const CoreReading& after);

}  // namespace causalctl::causal

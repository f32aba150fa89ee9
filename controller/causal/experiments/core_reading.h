// The engine's totals about cores at one moment. An experiment records the difference of two.
#pragma once

#include "controller/causal/engine/engine.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct CoreReading {
  Nanoseconds core_wait_ns = 0;
  Nanoseconds foreign_wait_ns = 0;
  CoreTotals totals;
};

CoreReading read_cores(const Engine& engine);

// Sets the experiment's fields about cores to the difference of the two readings.
void fill_in_cores(Experiment& experiment, const CoreReading& before, const CoreReading& after);

}  // namespace causalctl::causal

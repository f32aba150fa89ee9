#include "controller/causal/experiments/core_reading.h"

#include <algorithm>

namespace causalctl::causal {

CoreReading read_cores(const Engine& engine) {
  return {engine.ledger().core_wait_ns(), engine.cores().foreign_wait_ns(), engine.core_totals()};
}

void fill_in_cores(Experiment& experiment, const CoreReading& before, const CoreReading& after) {
  experiment.runnable_wait_ns = after.core_wait_ns - before.core_wait_ns;
  experiment.foreign_wait_ns = std::clamp<Nanoseconds>(
      after.foreign_wait_ns - before.foreign_wait_ns, 0, experiment.runnable_wait_ns);
  experiment.cores = after.totals - before.totals;
  experiment.cores.stranger_wait_ns = std::max<Nanoseconds>(experiment.cores.stranger_wait_ns, 0);
}

}  // namespace causalctl::causal

// A machine for tests without noise and costs, so that times are exact.
#pragma once

#include "tests/sim/machine.h"

namespace causalctl::sim {

inline MachineOptions exact(unsigned cores) {
  MachineOptions options;
  options.cores = cores;
  options.spread = 0;
  options.switch_ns = options.timer_slack_ns = options.pause_cost_ns = options.sample_cost_ns = 0;
  return options;
}

inline MachineOptions exact(unsigned cores, Sharing sharing) {
  MachineOptions options = exact(cores);
  options.scheduling.sharing = sharing;
  return options;
}

inline Task compute_for_ever(Thread& self) {
  for (;;) co_await self.compute(1, kMillisecond);
}

}  // namespace causalctl::sim

// The simulated programs whose truth is compared with the prediction. In each, a visit of the
// progress point is one unit of work done; lines are 1, 2, …; times are in the names, in ms.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/simulate.h"

namespace causalctl::sim {

struct Scenario {
  std::string family;
  std::string name;
  Program program;
  std::vector<Line> units = {1};
  std::vector<double> speedups = {0.5, 1.0};  // less than 1 where all code is the unit
  unsigned cores = 4;
  double spread = 0.02;
  Nanoseconds duration_ns = 60 * kSecond;
  bool oversubscribed = false;
  // What no virtual speedup can see makes the difference (docs/virtual-time.md): counted apart.
  bool beyond = false;
  SchedulerOptions scheduling = {};
  Nanoseconds quota_ns = 0;  // of CPU time in 100 ms; 0: no limit
  // The truth is the mean of as many seeds: queues per core may settle in one pattern or another.
  unsigned truths = 1;
  std::string group = {};  // which errors are counted together; empty: as the model reaches it
};

std::vector<Scenario> all_scenarios();
// Those of busy machines: families beside, cores, sizes, outsiders and quota.
std::vector<Scenario> busy_scenarios();

}  // namespace causalctl::sim

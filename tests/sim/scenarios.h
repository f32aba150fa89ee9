// The simulated programs whose truth is compared with the prediction. In each, a visit of the
// progress point is one unit of work. Lines are 1, 2, …; names contain the times in ms.
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
  std::vector<double> speedups = {0.5, 1.0};  // less than 1 if all code is the unit
  unsigned cores = 4;
  double spread = 0.02;
  Nanoseconds duration_ns = 60 * kSecond;
  bool oversubscribed = false;
  // True if the difference is due to what no virtual speedup can see (docs/virtual-time.md);
  // counted apart.
  bool beyond = false;
  SchedulerOptions scheduling = {};
  Nanoseconds quota_ns = 0;  // CPU time in 100 ms; 0 if not limited
  // The truth is the mean over this number of seeds: queues per core may settle in one pattern or
  // another.
  unsigned truths = 1;
  // Errors of one group are counted together; empty for all that the model covers.
  std::string group = {};
};

std::vector<Scenario> all_scenarios();
// Returns the scenarios of busy machines: families beside, cores, sizes, outsiders and quota.
std::vector<Scenario> busy_scenarios();

}  // namespace causalctl::sim

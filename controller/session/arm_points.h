// Arms the progress points of a run and records how each is counted.
#pragma once

#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/perf/session.h"
#include "controller/progress/counted.h"
#include "controller/session/recording.h"

namespace causalctl::session {

// How the progress points of a run are counted.
struct Armory {
  std::vector<Address> breakpoints;         // addresses that have a breakpoint
  std::vector<Nanoseconds> visit_costs_ns;  // by tag
};

// Throws as progress::arm() does.
Armory arm_points(config::CountBy count_by, const progress::CountedPoints& points, Pid target,
                  perf::Session& session, Recording& recording);

}  // namespace causalctl::session

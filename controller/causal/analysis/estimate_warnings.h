// Warns of what a reader must know before believing a report. Pure.
#pragma once

#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// The delay that was paid may differ from the delay that was asked for by this part of it, or by
// kDelayOfRun of the run's length.
inline constexpr double kDelayMismatch = 0.10;
inline constexpr double kDelayOfRun = 0.005;
// Share of the time that threads want to run for which they wait for cores.
inline constexpr double kOversubscribed = 0.10;
// The standard error of an effect because of the error of the pause cost, from which it is
// reported.
inline constexpr double kPauseErrorTold = 0.025;

// Adds the warnings. REQUIRES: everything else in `report` is filled in.
void add_warnings(const std::vector<Run>& runs, report::Report& report);

}  // namespace causalctl::causal

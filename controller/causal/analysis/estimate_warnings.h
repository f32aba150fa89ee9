// What a reader must know before believing a report. Pure.
#pragma once

#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

inline constexpr double kDelayMismatch = 0.10;  // paid against asked for
inline constexpr double kDelayOfRun = 0.005;    // … and against the length of the run
inline constexpr double kManyDiscarded = 0.20;  // of the experiments
// Of the time threads want to run, waits for cores:
inline constexpr double kOversubscribed = 0.10;  // all
inline constexpr double kBesideOthers = 0.05;    // because of others, or of too few cores
// Of an effect: its standard error by what is not known of the cost of pauses.
inline constexpr double kPauseErrorTold = 0.025;

// REQUIRES: everything else in `report` is filled in.
void add_warnings(const std::vector<Run>& runs, report::Report& report);

}  // namespace causalctl::causal

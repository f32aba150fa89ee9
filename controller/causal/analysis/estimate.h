// Makes effects, intervals, slopes, verdicts and a ranking of experiments. Pure.
#pragma once

#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// A unit is worth optimising (or contended) if its slope is certainly above (or below) zero, after
// Holm's correction for the number of units, and if its effect is at least this.
inline constexpr double kMeaningfulEffect = 0.01;
// The verdict is "no effect" if any effect is certainly smaller than this.
inline constexpr double kNoEffect = 0.05;
// A unit that was never sped up is listed if it has at least this share of the samples.
inline constexpr double kWorthListing = 0.01;

// Estimates from any number of runs of one group (run_groups.h). Each experiment is compared with
// the baselines of its own run. Each progress point is estimated from the runs that counted it, and
// each unit from those of these runs that tried it. What is called certain is wrong in at most
// `alpha` of the cases, and intervals cover the truth in 1 - alpha of them.
report::Report estimate(const std::vector<Run>& runs, double alpha = 0.05);

}  // namespace causalctl::causal

// Experiments → effects, intervals, slopes, verdicts, ranking. Pure.
#pragma once

#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// A unit is worth optimising, or contended, when its slope is certainly above, or below, zero, the
// looking at many units paid for (Holm), and its effect is at least this.
inline constexpr double kMeaningfulEffect = 0.01;
// "No effect" is said where any effect is certainly smaller than this.
inline constexpr double kNoEffect = 0.05;
// Units that were never sped up are listed where they have at least this share of the samples.
inline constexpr double kWorthListing = 0.01;

// Any number of runs of one group (run_groups.h). Each experiment is compared with the baselines of
// its own run, each progress point is estimated from the runs that counted it, and each unit from
// those of them that tried it. All that is called certain is wrong in at most `alpha` of the cases;
// intervals are 1 - alpha.
report::Report estimate(const std::vector<Run>& runs, double alpha = 0.05);

}  // namespace causalctl::causal

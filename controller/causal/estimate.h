// Experiments → effects, intervals, slopes, verdicts, ranking. Pure.
#pragma once

#include <vector>

#include "controller/causal/experiment.h"
#include "controller/report/model.h"

namespace causalctl::causal {

// A unit is worth optimising, or contended, when the effect of removing it altogether is at least
// this, and its slope is certainly above, or below, zero.
inline constexpr double kMeaningfulSlope = 0.01;
// "No effect" is said where the slope may be zero and is known to within this.
inline constexpr double kNarrowSlope = 0.05;
// Units that were never sped up are listed where they have at least this share of the samples.
inline constexpr double kWorthListing = 0.01;

// Any number of runs; each experiment is compared with the baselines of its own run.
report::Report estimate(const std::vector<Run>& runs);

}  // namespace causalctl::causal

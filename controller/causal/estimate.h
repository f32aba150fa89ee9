// Experiments → effects, intervals, slopes, verdicts, ranking. Pure.
#pragma once

#include <vector>

#include "controller/causal/experiment.h"
#include "controller/report/model.h"

namespace causalctl::causal {

report::Report estimate(const std::vector<Run>& runs);

}  // namespace causalctl::causal

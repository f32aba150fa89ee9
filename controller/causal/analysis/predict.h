// What the experiments say about one unit at one speedup: a prediction to compare an optimisation
// with. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

struct PredictedEffect {
  Interval effect;
  double lowest = 0, highest = 0;  // range of speedups of the experiments that it is from
  std::size_t experiments = 0;
};

// Returns the effect from the unit's experiments at `speedup` (0 to 1) or, if these are fewer than
// three, from those within 5, then 10 points of it. Throws UsageError, which lists what there is,
// if the logs have no such point or unit, or too few experiments, or if more than one group of runs
// (run_groups.h) has them.
PredictedEffect predicted_effect(const std::vector<Run>& all, const std::string& point,
                                 const std::string& unit, double speedup);

}  // namespace causalctl::causal

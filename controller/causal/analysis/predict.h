// What the experiments say of one unit at one speedup: the prediction that an optimisation is held
// against. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

struct PredictedEffect {
  Interval effect;
  double lowest = 0, highest = 0;  // speedups of the experiments it is from
  std::size_t experiments = 0;
};

// From the experiments of the unit at this speedup, or, where these are fewer than three, at those
// within 5, then 10 points of it. Throws UsageError, with what is there, when the logs have no such
// point or unit, or too few experiments, or when more than one group of runs (run_groups.h) has
// them. `speedup`: 0 to 1.
PredictedEffect predicted_effect(const std::vector<Run>& all, const std::string& point,
                                 const std::string& unit, double speedup);

}  // namespace causalctl::causal

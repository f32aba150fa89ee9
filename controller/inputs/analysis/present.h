// Makes the report of recordings: fits, ranking, forecast, and what tells the metrics apart
// (input-sensitive profiling, §3 and §6.1). Pure.
#pragma once

#include <span>

#include "controller/inputs/record/recording.h"
#include "controller/report/inputs/model.h"

namespace causalctl::inputs {

// What routines are ranked by.
struct Choice {
  Metric metric = Metric::trms;
  CostUnit cost = CostUnit::blocks;
  bool both_costs = false;  // fit the other cost, too
};

// REQUIRES: at least one run; all were read together. Throws Error if they cannot be combined.
report::inputs::Profile present(std::span<const Recording> runs, const Choice& choice);

}  // namespace causalctl::inputs

// What the program would execute if each call had ten times its input. Pure.
//
// Rule: each activation happens as it did, but with ten times its size, and costs what the fit
// says there, in proportion to what it says for the size that was seen. That extrapolates by a
// decade. What has no certain fit is counted as it is, so a forecast is too small rather than too
// large.
//
// Two forecasts are possible, and the larger one is given. One adds up the own costs of all
// routines; it misses routines that are called more often then. The other takes one routine with
// all that it calls, and leaves the rest as it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/base/interval.h"
#include "controller/inputs/analysis/fit.h"
#include "controller/inputs/record/recording.h"
#include "controller/report/inputs/model.h"

namespace causalctl::inputs {

inline constexpr double kForecastSizes = 10;  // times the sizes that were seen

// A routine, as far as a forecast needs it.
struct Part {
  std::string name;
  double share = 0;             // of the run, with what it calls
  double own_share = 0;         // of the run, without
  bool is_certain = false;      // whether it is known how its cost grows
  bool is_own_certain = false;  // and its own cost
  Interval times;               // what its cost grows to, as a multiple
  Interval own_times;
};

// Returns what the sum of costs grows to. `own`: of the own costs, otherwise of the outermost ones.
// REQUIRES: the fit is certain.
Interval growth_times(std::span<const SizeRow> rows, CostUnit unit, bool own, const Fit& fit);

report::inputs::Forecast forecast(const std::vector<Part>& parts);

}  // namespace causalctl::inputs

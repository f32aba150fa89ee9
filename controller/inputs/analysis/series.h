// The costs of a routine by input size, as fit.h takes them (input-sensitive profiling, §3: the
// worst-case running time plot, and that of the mean). Pure.
#pragma once

#include <span>

#include "controller/inputs/analysis/fit.h"
#include "controller/inputs/record/recording.h"
#include "controller/report/inputs/model.h"

namespace causalctl::inputs {

// REQUIRES: ascending sizes.
Series series_of(std::span<const SizeRow> rows, CostUnit unit, report::inputs::Of of);

// Returns the words for the chosen curve: "n log n", "n^1.93"; empty if nothing was fitted.
std::string shape_words(const Fit& fit);

// Returns the fit as reports show it.
report::inputs::Growth growth_of(const Fit& fit);

}  // namespace causalctl::inputs

// Latencies whose begins exceed their ends. Pure.
#pragma once

#include <optional>

#include "controller/base/interval.h"
#include "controller/causal/analysis/estimate_compare.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns the share of the begins of a latency that have no end, if there are such for certain:
// then nothing is known of its mean, unless ends are paired with begins (progress/in_flight.h).
std::optional<Interval> unended(const Run& run, const Point& point);

}  // namespace causalctl::causal

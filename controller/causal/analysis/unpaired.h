// Latencies whose begins and ends are not equally many. Pure.
#pragma once

#include <optional>

#include "controller/base/unpaired_share.h"
#include "controller/causal/analysis/estimate_compare.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns what share of the begins of a latency have no end, or of its ends no begin, if there are
// such for certain: then nothing is known of its mean, unless ends are paired with begins
// (progress/in_flight.h).
std::optional<Unpaired> unpaired(const Run& run, const Point& point);

}  // namespace causalctl::causal

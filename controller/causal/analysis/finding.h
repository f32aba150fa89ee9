// Chooses what a report says first: the effect that is most useful to know. Pure.
#pragma once

#include <optional>

#include "controller/report/causal/model.h"

namespace causalctl::causal {

inline constexpr double kSmallSpeedup = 0.1;  // a slope alone is trusted up to this speedup

// Returns the largest effect that baselines, in which nothing is faster, may have on each other; 0
// if not known. An effect that is no larger may have the same cause, whatever its own interval
// says.
double null_bound(const std::optional<Interval>& null);

// REQUIRES: the units of report.progress are judged and ranked.
report::Finding finding_of(const report::Report& report);

}  // namespace causalctl::causal

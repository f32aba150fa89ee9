// What a report says first: the effect that a developer gains most from knowing. Pure.
#pragma once

#include "controller/report/causal/model.h"

namespace causalctl::causal {

inline constexpr double kSmallSpeedup = 0.1;  // how far a slope alone is believed

// REQUIRES: the units of report.progress are judged and ranked.
report::Finding finding_of(const report::Report& report);

}  // namespace causalctl::causal

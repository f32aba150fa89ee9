// Chooses what a report says first: the effect that is most useful to know. Pure.
#pragma once

#include "controller/report/causal/model.h"

namespace causalctl::causal {

inline constexpr double kSmallSpeedup = 0.1;  // a slope alone is trusted up to this speedup

// REQUIRES: the units of report.progress are judged and ranked.
report::Finding finding_of(const report::Report& report);

}  // namespace causalctl::causal

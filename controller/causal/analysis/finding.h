// Chooses what a report says first: an effect that the run's own checks bear or, where there is
// none, why and what would help. Pure.
#pragma once

#include "controller/report/causal/model.h"

namespace causalctl::causal {

// REQUIRES: the units of report.progress are judged and ranked.
report::Finding finding_of(const report::Report& report);

}  // namespace causalctl::causal

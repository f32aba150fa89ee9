// What a reader must know of the programs that shared the target's cores. Pure.
#pragma once

#include <vector>

#include "controller/base/warning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns nothing if neither strangers (ledger.h) nor a quota of CPU time kept the target from its
// cores in any run.
std::vector<Warning> told_of_strangers(const std::vector<Run>& runs);

// Returns for which part of the time in which a quota of CPU time was used up it stopped the
// target.
double quota_share_of(const std::vector<Run>& runs);

}  // namespace causalctl::causal

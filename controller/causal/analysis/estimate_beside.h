// What a reader must know of the programs that shared the target's cores. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Sentences; empty: no strangers (ledger.h) kept the target from its cores in any run.
std::string told_of_strangers(const std::vector<Run>& runs);

}  // namespace causalctl::causal

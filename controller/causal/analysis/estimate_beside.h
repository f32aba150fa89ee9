// What a reader must know of the programs that shared the target's cores. Pure.
#pragma once

#include <optional>
#include <vector>

#include "controller/base/warning.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// nullopt: no strangers (ledger.h) kept the target from its cores in any run.
std::optional<Warning> told_of_strangers(const std::vector<Run>& runs);

}  // namespace causalctl::causal

// Writes runs as the tab-separated profile of Coz's viewer (docs/report-format.md, "coz"). Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

std::string coz_profile(const std::vector<Run>& runs);

}  // namespace causalctl::causal

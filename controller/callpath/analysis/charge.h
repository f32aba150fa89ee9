// Charges samples of call paths to the units of a causal profile, as that does (Coz,
// section 3.4.2): to the innermost frame that is in scope, inlined frames first. Pure.
#pragma once

#include <vector>

#include "config/config.h"
#include "controller/report/callpath/gains.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

// Returns for each node what samples that end there are charged to. `scope` is that of the causal
// profile. Units are found by the file's name and line, or by the function's name.
std::vector<report::callpath::Charge> charge(const report::callpath::Profile& profile,
                                             const std::vector<report::callpath::CausalUnit>& units,
                                             const config::Scope& scope);

}  // namespace causalctl::callpath

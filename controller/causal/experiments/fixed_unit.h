// Checks that --fixed names one unit of the target.
#pragma once

#include <string>

#include "config/config.h"
#include "unwind/symbolizer.h"

namespace causalctl::causal {

// The unit must exist, so that a typing error shows at once. It must be unique, because otherwise
// the first sample would decide. A function is named as a progress point is: by its short name, or
// with its parameters, its file or its binary. Returns the function's identity
// (causal/record/unit_names.h). Returns "" for a line, and for a function that is not there but may
// be in a library of the scope that is loaded later. Throws UsageError, with similar names, if the
// name can get no sample.
std::string fixed_unit(const std::string& name, const config::Scope& scope,
                       unwind::Symbolizer& symbolizer);

}  // namespace causalctl::causal

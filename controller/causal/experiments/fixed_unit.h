// Whether --fixed names one unit of the target.
#pragma once

#include <string>

#include "config/config.h"
#include "unwind/symbolizer.h"

namespace causalctl::causal {

// It must be somewhere, or ten minutes would pass before the typing error shows; and only once, or
// what is first sampled would decide. A function is named as a progress point is: short, or with
// its parameters, its file or its binary. Returns its identity (causal/record/unit_names.h); "" for
// a line, and for a function that is nowhere but may be in a library of the scope that is loaded
// later. Throws UsageError, with what could be meant, for a name that can get no sample.
std::string fixed_unit(const std::string& name, const config::Scope& scope,
                       unwind::Symbolizer& symbolizer);

}  // namespace causalctl::causal

// Whether --fixed names one unit of the target.
#pragma once

#include <string>

#include "config/config.h"
#include "unwind/symbolizer.h"

namespace causalctl::commands {

// It must be somewhere, or ten minutes would pass before the typing error shows; and only once, or
// what is first sampled would decide. Throws UsageError that lists what could be meant. A function
// that is nowhere yet may be in a library that is loaded later.
void check_fixed_unit(const std::string& unit, const config::Scope& scope,
                      unwind::Symbolizer& symbolizer);

}  // namespace causalctl::commands

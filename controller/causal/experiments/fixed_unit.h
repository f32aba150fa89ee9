// Checks that --fixed names one unit of the target.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "controller/causal/record/call_path.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::causal {

struct FixedUnit {
  // Of a function or a call path (causal/record/unit_names.h). Empty for a line, and for a function
  // that is not there but may be in a library of the scope that is loaded later.
  std::string identity;
  std::optional<CallPath> path{};
};

// The unit must exist, so that a typing error shows at once. It must be unique, because otherwise
// the first sample would decide. A function is named as a progress point is: by its short name, or
// with its parameters, its file or its binary. Throws UsageError, with similar names, if the name
// can get no sample.
FixedUnit fixed_unit(const std::string& name, const config::Scope& scope,
                     unwind::Symbolizer& symbolizer);

}  // namespace causalctl::causal

// Finds the functions of a call path that --fixed names.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "controller/causal/record/call_path.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::causal {

// Returns nullopt if the name is no call path. Each function must be there, in scope, with code of
// its own or inlined somewhere. Throws UsageError, with similar names, if one is not.
std::optional<CallPath> fixed_path(const std::string& name, const config::Scope& scope,
                                   unwind::Symbolizer& symbolizer);

}  // namespace causalctl::causal

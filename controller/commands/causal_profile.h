// What a causal profile says, for other profiles of the same program.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "controller/base/json_lines.h"
#include "controller/causal/analysis/run_groups.h"
#include "controller/report/callpath/gains.h"

namespace causalctl::commands {

// Returns the group of runs in the log. `wanted` chooses one of several. Throws UsageError if the
// log is no experiment log, or has several groups; Error if it has no run.
causal::RunGroup causal_group(const std::vector<LogText>& logs, const std::string& wanted);

// The scope that a run was made with; what its log does not tell is the default.
config::Scope scope_of(const causal::Run& run);

// What the group says of lines and functions; `same_build`: the other profile is of the same build.
report::callpath::CausalProfile causal_profile(const causal::RunGroup& group, bool same_build);

}  // namespace causalctl::commands

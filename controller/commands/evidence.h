// What a profile needs to know of the request and of the target to say why nothing was found.
#pragma once

#include <vector>

#include "config/config.h"
#include "controller/base/types.h"
#include "controller/causal/record/evidence.h"
#include "controller/progress/counted.h"
#include "unwind/symbolizer.h"

namespace causalctl::commands {

std::vector<causal::PointCode> codes_of(const progress::CountedPoints& points,  // by tag
                                        unwind::Symbolizer& symbolizer);

causal::TargetState state_of(Pid target);  // now

// Whether the patterns of --scope-binary match something that is loaded. A process that runs has
// nearly always loaded its libraries, so that nothing at all is a UsageError, before the attach is
// paid for; a program that is `suspended` at its entry may load more, and gets a note.
void check_scope(const config::Scope& scope, unwind::Symbolizer& symbolizer, bool suspended);

}  // namespace causalctl::commands

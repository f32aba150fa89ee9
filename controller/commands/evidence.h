// What a profile needs to know of the request and of the target to say why nothing was found.
#pragma once

#include <vector>

#include "controller/base/types.h"
#include "controller/causal/record/evidence.h"
#include "controller/progress/counted.h"
#include "unwind/symbolizer.h"

namespace causalctl::commands {

std::vector<causal::PointCode> codes_of(const progress::CountedPoints& points,  // by tag
                                        unwind::Symbolizer& symbolizer);

causal::TargetState state_of(Pid target);  // now

}  // namespace causalctl::commands

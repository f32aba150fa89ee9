// Says which process a recording is of, on which host, and when it began.
#pragma once

#include <vector>

#include "controller/base/types.h"
#include "controller/session/recording.h"
#include "unwind/symbolizer.h"

namespace causalctl::session {

// Tells of a set by the first of its processes, if there is one. Gives the recording a new id, too.
void identify_first(const std::vector<Pid>& processes, Recording& recording);
// The same of one process.
void identify(Pid target, unwind::Symbolizer& symbolizer, Recording& recording);

}  // namespace causalctl::session

// Warns of what perf events could not see of a run.
#pragma once

#include "controller/perf/session.h"
#include "controller/session/recording.h"

namespace causalctl::session {

// Adds a warning for each option that could not be had, and for threads that were not watched from
// their beginning. REQUIRES: the recording's wall_ns is known.
void warn_of_losses(const perf::Session& session, Recording& recording);

}  // namespace causalctl::session

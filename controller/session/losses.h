// Warns of what perf events could not see of a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/perf/event_source.h"
#include "controller/perf/session.h"
#include "controller/session/recording.h"

namespace causalctl::session {

// Returns a text for each reason for which processes are left out, with their number and the first
// of them. Pure.
std::vector<std::string> texts_of_forbidden(const std::map<Pid, perf::ForbiddenProcess>& processes);

// Adds a warning for each option that could not be had, for processes that were left out, and for
// threads that were not watched from their beginning. REQUIRES: the recording's wall_ns is known.
void warn_of_losses(const perf::Session& session, Recording& recording);

}  // namespace causalctl::session

// Says which process a recording is of, on which host, and when it began.
#pragma once

#include <string>

#include "controller/base/types.h"
#include "controller/session/recording.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::session {

std::string host_name();

// Gives the recording a new id, the name of this host, and the time.
void identify(Recording& recording);
// Does the same, and names the process and its program.
void identify(Pid target, Recording& recording);
// Does the same, and tells the build-id of the program.
void identify(Pid target, unwind::Symbolizer& symbolizer, Recording& recording);

}  // namespace causalctl::session

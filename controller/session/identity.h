// Says which process a recording is of, on which host, and when it began.
#pragma once

#include "controller/base/types.h"
#include "controller/session/recording.h"
#include "unwind/symbolizer.h"

namespace causalctl::session {

// Gives the recording a new id, too.
void identify(Pid target, unwind::Symbolizer& symbolizer, Recording& recording);

}  // namespace causalctl::session

// The guardian's side of the channel: see guardian.h and guardian_protocol.h.
#pragma once

#include "controller/base/helper_process.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

// Runs in the forked child until the controller's end of the channel closes, undoes everything, and
// ends the process.
[[noreturn]] void run_guardian_process(const Channel& controller_end, Pid controller);

}  // namespace causalctl::tracee

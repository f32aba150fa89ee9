// The guardian's side of the socket: see guardian.h and guardian_protocol.h.
#pragma once

#include "controller/base/types.h"

namespace causalctl::tracee {

// Runs in the forked child until the controller's end of `socket` closes, undoes everything, and
// ends the process.
[[noreturn]] void run_guardian_process(int socket, Pid controller);

}  // namespace causalctl::tracee

// Runs a program that is held in a ptrace-stop, and holds it again. For the guardian.
#pragma once

#include <functional>

#include "controller/base/types.h"

namespace causalctl::target {

// Until a trap at `address`, or, where that is 0, until it executes a program. It is left at the
// exit-stop of that exec: in the event-stop before, the call's result is still to be written into
// the registers. Throws TargetGone where it ends before, Error where nothing is to be waited for:
// `controller_is_gone()`, it does not start in time, or a library that is loaded blocks SIGTRAP.
// REQUIRES: child is traced by the caller.
void run_held(Pid child, Address address, const std::function<bool()>& controller_is_gone);

}  // namespace causalctl::target

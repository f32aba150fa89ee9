// Whether a shot sends its SIGTRAP, and what the kernel does with it where the thread blocks it.
#pragma once

#include "controller/base/trial.h"

namespace causalctl::pause {

// Fires an event with `sigtrap` at a child of ours that blocks the signal. The outcome is `seen` if
// the kernel leaves the signal pending, as Linux 5.19 does, and some stable kernels before it.
// Older kernels deliver it by force, which ends the process; any thread blocks all signals for a
// moment when it forks or creates a thread. Takes some milliseconds, or some tenths of a second if
// no shot ever fires.
Trial try_sigtrap();
const Trial& sigtrap_trial();  // the same trial, made once in this process

}  // namespace causalctl::pause

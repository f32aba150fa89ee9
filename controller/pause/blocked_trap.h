// Whether a shot sends its SIGTRAP, and what the kernel does with it where the thread blocks it.
#pragma once

#include "controller/base/trial.h"

namespace causalctl::pause {

// Of an event with `sigtrap` on a child of ours that blocks the signal. Seen: the kernel leaves it
// pending, as Linux 5.19 does and some stable kernels before it. Older ones deliver it by force,
// which ends the process: any thread blocks all signals for a moment when it forks or makes
// another. Lasts some milliseconds; where no shot ever fires, some tenths of a second.
Trial try_sigtrap();
const Trial& sigtrap_trial();  // the same, made once in this process

}  // namespace causalctl::pause

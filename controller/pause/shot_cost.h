// What a pause costs its thread beside the pause: the interrupt that arms the shot, the shot's own
// timer, the signal's frame and rt_sigreturn. It is time that the thread stands still and that no
// clock of the stub sees, so it is measured once, here, and counted as paid. A few microseconds on
// real hardware; 50 to 100 on virtual machines, where each interrupt leaves the machine.
#pragma once

#include "controller/base/types.h"

namespace causalctl::pause {

// Median over some dozens of shots at a busy thread of our own, which lasts some 50 ms. 0 where
// sigtrap events are not to be had. SIGTRAP is handled by us meanwhile. REQUIRES: no other call at
// the same time.
Nanoseconds measure_shot_cost();

}  // namespace causalctl::pause

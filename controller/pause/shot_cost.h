// What a pause costs its thread beside the pause. By the stub: the interrupt that arms the shot,
// the shot's own timer, the signal's frame and rt_sigreturn; a few microseconds on real hardware,
// more on virtual machines, where each interrupt leaves the machine. By ptrace: from the stop until
// the guardian has seen it, and from the detach until the thread runs again. It is time that the
// thread stands still and that is in no pause's length, and is counted as paid. This is the first
// guess, a third to a half of it; causal/experiments/measure_pause_cost.h measures the rest on the
// target itself.
#pragma once

#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::pause {

// Median over some dozens of shots at a busy thread of our own, which lasts some 50 ms. 0 where
// sigtrap events are not to be had. SIGTRAP is handled by us meanwhile. REQUIRES: no other call at
// the same time.
Nanoseconds measure_shot_cost();

// The same for pauses by ptrace-stop, at a thread of our own that the guardian stops. 0 where the
// guardian may not stop it. REQUIRES: no pauses are asked of the guardian by anybody else.
Nanoseconds measure_stop_cost(tracee::Guardian& guardian);

}  // namespace causalctl::pause

// Measures what a pause costs its thread besides the pause. With the stub this is the interrupt
// that arms the shot, the shot's own timer, the signal's frame and rt_sigreturn: a few microseconds
// on real hardware, more on virtual machines, where each interrupt leaves the machine. With ptrace
// it is the time from the stop until the guardian has seen it, and from the detach until the thread
// runs again. The thread stands still for this time, but it is in no pause's length; it is counted
// as paid. What is measured here is a first guess, a third to a half of the cost;
// causal/experiments/measure_pause_cost.h measures the rest on the target itself.
#pragma once

#include "controller/base/types.h"
#include "controller/tracee/guardian/guardian.h"

namespace causalctl::pause {

// Returns the median over some dozens of shots at a busy thread of our own, or 0 if sigtrap events
// are not available. Takes some 50 ms, during which we handle SIGTRAP. REQUIRES: no other call at
// the same time.
Nanoseconds measure_shot_cost();

// Returns the same for pauses by ptrace-stop: the guardian stops a thread of our own. 0 if it may
// not. REQUIRES: no other thread asks the guardian for pauses.
Nanoseconds measure_stop_cost(tracee::Guardian& guardian);

}  // namespace causalctl::pause

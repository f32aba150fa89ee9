// What a pause costs its thread besides the time in the stub, and how well that is known
// (docs/virtual-time.md, "What a pause costs"). Pure; measure_pause_cost.h measures.
#pragma once

#include <cstdint>

#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Returns a guess if nothing could be measured. `shot_cost_ns` is what a shot at a thread of our
// own showed, which is a third to a half of the cost, or 0 if that is not known either. The error
// is as large as the guess, for pauses of any length.
PauseCost guessed_pause_cost(Nanoseconds shot_cost_ns);

// Returns the cost that the user gave.
PauseCost given_pause_cost(Nanoseconds cost_ns);

// Returns the cost that follows from the progress that was lost by pauses of `length_ns` each.
// `loss` is a fraction, `loss_error` the standard error of log(1 + loss), `pauses_per_ns` the
// pauses of one thread per nanosecond of its virtual time, and `counted_ns` what was counted as
// paid for each.
PauseCost pause_cost_of(double loss, double loss_error, double pauses_per_ns, Nanoseconds length_ns,
                        Nanoseconds counted_ns);

// Returns 0 if there were no pauses.
double mean_pause_ns(Nanoseconds paid_ns, std::uint64_t pauses);

// Returns the number of pauses of `pause_ns` that pay the delay, with their costs.
double pauses_for(Nanoseconds delay_ns, double pause_ns, Nanoseconds cost_ns);

// Returns an upper bound on the pauses of any one thread: enough to pay the whole delay, or all
// pauses of the experiment if these are fewer. (A thread that was credited at wake-ups pays less.)
double pauses_of_one_thread(const Experiment& experiment, const Overhead& overhead);

// Returns the standard error of a thread's virtual time in the experiment: that of the cost of all
// its pauses, which differs from the measured cost if they are longer or shorter than those
// measured.
Nanoseconds error_of_pauses(const Experiment& experiment, const Overhead& overhead);

}  // namespace causalctl::causal

// What a pause costs its thread besides the time in the stub, and how well that is known
// (docs/virtual-time.md, "What a pause costs"). Pure; measured by measure_pause_cost.h.
#pragma once

#include <cstdint>

#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// Where nothing could be measured. A shot at a thread of our own sees a third to a half, so it may
// be wrong by as much again, whatever the length. 0: that is not known either.
PauseCost guessed_pause_cost(Nanoseconds shot_cost_ns);

// As the user says.
PauseCost given_pause_cost(Nanoseconds cost_ns);

// The cost by what pauses of `length_ns` each took from the progress: `loss` is a fraction,
// `loss_error` the standard error of log(1 + loss), `pauses_per_ns` the pauses of one thread per
// nanosecond of its virtual time, and `counted_ns` what was counted as paid for each.
PauseCost pause_cost_of(double loss, double loss_error, double pauses_per_ns, Nanoseconds length_ns,
                        Nanoseconds counted_ns);

// 0: of no pauses.
double mean_pause_ns(Nanoseconds paid_ns, std::uint64_t pauses);

// So many pauses of `pause_ns` pay the delay, costs included.
double pauses_for(Nanoseconds delay_ns, double pause_ns, Nanoseconds cost_ns);

// How many pauses one thread makes at most in the experiment: what it was credited for, it has not
// paid, and then it makes no more than all threads together.
double pauses_of_one_thread(const Experiment& experiment, const Overhead& overhead);

// The standard error of a thread's virtual time in the experiment: of the cost of all its pauses,
// which are dearer or cheaper than those that it was measured with, if they are longer or shorter.
Nanoseconds error_of_pauses(const Experiment& experiment, const Overhead& overhead);

}  // namespace causalctl::causal

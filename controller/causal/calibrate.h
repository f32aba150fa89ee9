// The sampling period, chosen by its measured cost: sampling is switched off and on in turn, and
// the progress rate compared. On a virtual machine with all cores busy a sample costs ten times
// what it costs elsewhere, and the baseline, where all threads run, suffers more of it than the
// treatment, where most stand still; so a dear period falsifies effects, not only slows the target.
// And what a pause costs its thread besides, by sham speedups (docs/virtual-time.md, "What a pause
// costs").
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/experiment.h"
#include "controller/causal/stream.h"

namespace causalctl::causal {

struct SamplingCost {
  Nanoseconds period_ns = 0;
  std::optional<double> cost;  // fraction by which progress is slower with sampling on; nullopt:
                               // too few visits to tell
  double low = 0, high = 0;    // its 95 % interval (Student's t over the pairs); where there is one
};

// Pure: the robust mean of log(on/off) over the pairs, as a fraction; nullopt for fewer than three.
std::optional<double> cost_of_pairs(const std::vector<std::pair<double, double>>& off_on_periods);

// What sampling may cost the target (docs/benchmarks.md, "Overhead").
inline constexpr double kAffordable = 0.0125;
// Where threads pass cores on to each other it is the noise of sampling that makes effects look too
// small (docs/virtual-time.md, "The pool"), so that a short period is worth more.
inline constexpr double kAffordableShortOfCores = 0.03;

// Pure: the period that costs `affordable`, if a period of `measured_ns` costs `cost`.
Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable);

// Runs the comparison, for at most `budget_ns` in all; `stop` ends it early. Leaves sampling on at
// the chosen period.
SamplingCost choose_period(Stream& stream, const StreamParts& parts, double affordable,
                           Nanoseconds budget_ns, const std::function<bool()>& stop);

struct PauseCost {
  Nanoseconds cost_ns = 0;
  Nanoseconds error_ns = 0;  // standard; in it, what longer pauses may cost more or less
};

// Pure: where nothing could be measured. A shot at a thread of our own sees a third to a half. 0:
// that is not known either.
PauseCost guessed_pause_cost(Nanoseconds shot_cost_ns);

// Pure: as the user says; longer pauses may cost more or less.
PauseCost given_pause_cost(Nanoseconds cost_ns);

// Pure: from what was lost in progress (a fraction; the standard error of log(1 + loss)) with so
// many pauses of one thread per nanosecond of its virtual time, when `counted_ns` of a pause were
// counted as paid.
PauseCost pause_cost_of(double loss, double loss_error, double pauses_per_ns,
                        Nanoseconds counted_ns);

// Pure: the standard error of a thread's virtual time in the experiment. A thread makes at most so
// many pauses that it pays the delay with them, costs included; what it was credited for, it has
// not paid, and then it makes no more than all threads together.
Nanoseconds error_of_pauses(const Experiment& experiment, const Overhead& overhead);

// What a pause costs its thread besides the time in the stub: the interrupt that arms it, signal
// frame, context switches, cold caches. On this target, as it runs: phases with and without a sham
// speedup, in which all threads stand still for the same part of the time. Nothing is faster then,
// so whatever progress is lost in virtual time is the pauses' doing, and is divided among those
// that one thread makes. nullopt: too few visits to tell.
std::optional<PauseCost> measure_pause_cost(Stream& stream, const StreamParts& parts,
                                            Nanoseconds budget_ns,
                                            const std::function<bool()>& stop);

}  // namespace causalctl::causal

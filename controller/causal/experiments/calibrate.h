// The sampling period, chosen by its measured cost: sampling is switched off and on in turn, and
// the progress rate compared. On a virtual machine with all cores busy a sample costs ten times
// what it costs elsewhere, and the baseline, where all threads run, suffers more of it than the
// treatment, where most stand still; so a dear period falsifies effects, not only slows the target.
// And what a pause costs its thread besides, by uniform pauses (docs/virtual-time.md, "What a pause
// costs").
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/analysis/pacing.h"
#include "controller/causal/analysis/pause_cost.h"
#include "controller/causal/engine/engine.h"

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
// small (docs/calibration.md, "The pool"), so that a short period is worth more.
inline constexpr double kAffordableShortOfCores = 0.03;

// Pure: the period that costs `affordable`, if a period of `measured_ns` costs `cost`.
Nanoseconds affordable_period(Nanoseconds measured_ns, double cost, double affordable);

inline constexpr Nanoseconds kFinestPeriod = kMillisecond;  // that is chosen

// Runs the comparison, for at most `budget_ns` in all; `stop` ends it early. Leaves sampling on at
// the chosen period, which is `shortest_ns` at least.
SamplingCost choose_period(Engine& engine, const EngineParts& parts, double affordable,
                           Nanoseconds shortest_ns, Nanoseconds budget_ns,
                           const std::function<bool()>& stop);

// What a pause costs its thread besides the time in the stub: the interrupt that arms it, signal
// frame, context switches, cold caches. On this target, as it runs: phases with and without a
// uniform pause, in which all threads stand still for the same part of the time. Nothing is faster
// then, so whatever progress is lost in virtual time is the pauses' doing, and is divided among
// those that one thread makes. nullopt: too few visits to tell.
std::optional<PauseCost> measure_pause_cost(Engine& engine, const EngineParts& parts,
                                            Nanoseconds budget_ns,
                                            const std::function<bool()>& stop);

// The part of the time for which the pace test may pause all threads, given the part for which they
// wait: a program that answers requests at their own pace must keep up with them meanwhile. Never
// more than `most`, which the user allows. Pure.
double gentle_rate(double waiting_share, double most = 1);

struct PaceTest {
  double pause_rate = 0;     // the part of the time for which all threads stand still
  bool cores_short = false;  // see Pacing
};
// What a target has to spare: shares of the time.
struct Spare {
  double waiting = 0;  // for which threads that pass progress points wait
  bool cores_short = false;
  std::optional<double> idle;  // of the cores that it may use
  double stalled = 0;          // for which none of its threads runs though some want to
};
// How to test a target gently. nullopt: cores are so short that progress may wait for them, and in
// a uniform pause others use those that the target leaves; or a limit keeps its threads from idle
// ones. Pure.
std::optional<PaceTest> gentle_test(const Spare& spare, double most = 1);

// Of each throughput point: whether it comes at its own pace (pacing.h). Points that are too rare
// are left out, and all where the threads could not be paused.
std::vector<Pacing> measure_pacing(Engine& engine, const EngineParts& parts, const PaceTest& test,
                                   Nanoseconds budget_ns, const std::function<bool()>& stop);

}  // namespace causalctl::causal

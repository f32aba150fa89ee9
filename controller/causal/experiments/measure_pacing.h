// Whether progress comes at its own pace (docs/calibration.md, "The pace test").
#pragma once

#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/analysis/pacing.h"
#include "controller/causal/experiments/phases.h"

namespace causalctl::causal {

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
std::vector<Pacing> measure_pacing(const Calibration& with, const PaceTest& test,
                                   Nanoseconds budget_ns);

}  // namespace causalctl::causal

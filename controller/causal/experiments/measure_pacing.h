// Measures whether progress comes at its own pace (docs/calibration.md, "The pace test").
#pragma once

#include <optional>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/analysis/pacing.h"
#include "controller/causal/experiments/phases.h"

namespace causalctl::causal {

// Returns the part of the time for which the pace test may pause all threads, given the part for
// which they wait, so that a program still keeps up with requests that come at their own pace.
// Never returns more than `most`, which the user allows. Pure.
double gentle_rate(double waiting_share, double most = 1);

struct PaceTest {
  double pause_rate = 0;     // the part of the time for which all threads stand still
  bool cores_short = false;  // see Pacing
};
// What a target has to spare, as shares of the time.
struct Spare {
  double waiting = 0;  // waits of the threads that pass progress points
  bool cores_short = false;
  std::optional<double> idle;  // idle time of the cores that it may use
  double stalled = 0;          // when none of its threads runs although some want to
};
// Returns how to test a target gently. Returns nullopt if cores are so short that progress may wait
// for them, because in a uniform pause other programs use the cores that the target leaves; or if a
// limit keeps its threads from idle cores. Pure.
std::optional<PaceTest> gentle_test(const Spare& spare, double most = 1);

// Measures for each throughput point whether it comes at its own pace (pacing.h). Leaves out points
// that are too rare, and all points if the threads could not be paused.
std::vector<Pacing> measure_pacing(const Calibration& with, const PaceTest& test,
                                   Nanoseconds budget_ns);

}  // namespace causalctl::causal

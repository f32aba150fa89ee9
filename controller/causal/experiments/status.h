// What the status line says about a run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct Status {
  const char* phase = "";  // "survey", "calibration" or "experiments"
  Nanoseconds elapsed_ns = 0;
  std::size_t experiments = 0;
  std::size_t discarded = 0;
  std::string unit;
  double speedup = 0;
  double visits_per_s = 0;  // in the last experiment
  // The share of the wall time of experiments so far that was inserted as delay, but at most the
  // time for which threads were paused.
  double paused_share = 0;
  std::uint64_t records_lost = 0;
};

// Returns a line as "12 s  experiments  20 experiments (1 discarded)  a.c:7 50 %  812.1 visits/s".
std::string describe(const Status& status);

// Fills in all but what only the clock and the session know. `now` is the experiment under way, or
// null.
Status status_of(const Run& run, const char* phase, const Experiment* now);

}  // namespace causalctl::causal

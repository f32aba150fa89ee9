// What the status line says of a run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct Status {
  const char* phase = "";  // survey, calibration, experiments
  Nanoseconds elapsed_ns = 0;
  std::size_t experiments = 0;
  std::size_t discarded = 0;
  std::string unit;
  double speedup = 0;
  double visits_per_s = 0;  // in the last experiment
  // By pauses, of the wall time of experiments so far: the delay, and at most what threads were
  // paused.
  double paused_share = 0;
  std::uint64_t records_lost = 0;
};

// "12 s  experiments  20 experiments (1 discarded)  a.c:7 50 %  812.1 visits/s".
std::string describe(const Status& status);

// All but what only the clock and the session know. `now`: the experiment under way, or null.
Status status_of(const Run& run, const char* phase, const Experiment* now);

}  // namespace causalctl::causal

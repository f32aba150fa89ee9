// Computes truth and prediction for one program on one machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"
#include "tests/sim/machine.h"
#include "tests/sim/sim_kernel.h"

namespace causalctl::sim {

inline constexpr std::uint32_t kProgressTag = 0;

// Starts the threads of a program. The returned handle keeps alive what they share, which the
// scenario owns.
using Program = std::function<std::shared_ptr<void>(Machine&)>;

struct Question {
  Program program;
  MachineOptions machine;
  Line unit = 1;
  double speedup = 0.5;
  Nanoseconds duration_ns = 60 * kSecond;
};

struct Controller {
  Latency latency;
  Nanoseconds period_ns = kMillisecond;
  Nanoseconds tick_cost_ns = 60 * kMicrosecond;
  Nanoseconds arming_ns = 10 * kMicrosecond;
  Nanoseconds credited_cost_ns = 8 * kMicrosecond;  // what the controller believes a pause costs
  Nanoseconds visit_cost_ns = 0;                    // what it believes a visit costs
  Nanoseconds experiment_ns = 500 * kMillisecond;
  std::optional<Nanoseconds> pause_threshold_ns;
  bool whole_interval = false;  // includes the errors of the model and of pause costs
  bool pauses_arrive = true;    // false: none of the pauses is ever made
};

// Returns 1 - (time per visit with the unit really faster) / (time per visit), without a profiler.
double true_effect(const Question& question);

struct Prediction {
  std::optional<Interval> effect;  // nullopt if there are not enough data
  report::Report report;
  causal::Run run;
  std::vector<bool> let_go;  // for each RunHooks::followed: whether events were recorded by then
};

// Returns what the shipping controller says about the same question.
Prediction predict(const Question& question, const Controller& controller);

}  // namespace causalctl::sim

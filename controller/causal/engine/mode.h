// The modes of the engine. They follow each other in this order, and in no other:
//
//   Idle, Counting → Counting        begin_counting()
//   Idle, Counting → Experiment      begin_experiment()
//   Idle, Counting → UniformPause    begin_uniform_pause()
//   Experiment, UniformPause → Idle  end()
#pragma once

#include <cstdint>
#include <variant>

#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {
namespace mode {

// Records are drained and decoded as in every mode, so that the cost of watching is always the
// same. No thread owes anything.
struct Idle {};

// Visits are counted, and no thread earns or owes anything.
struct Counting {};

// One unit is selected; in a baseline its samples are worth nothing.
struct Experiment {
  enum class Phase : std::uint8_t {
    earning,
    paying,  // after the planned end: threads pay what they owe
  };
  UnitId unit = 0;
  Phase phase = Phase::earning;
  bool owing = false;  // something was earned: debts may exist
};

// All threads stand still for a share of the time, and nothing is faster.
struct UniformPause {
  enum class Timing : std::uint8_t {
    lazy,    // pauses come as in an experiment
    prompt,  // pauses come as soon as they can, all at the same time, out of step with the target
  };
  double rate = 0;  // the share of the time
  Timing timing = Timing::lazy;
  Nanoseconds lifted_at_ns = 0;  // until then all threads owe their share
  bool owing = false;
};

}  // namespace mode

using Mode = std::variant<mode::Idle, mode::Counting, mode::Experiment, mode::UniformPause>;

}  // namespace causalctl::causal

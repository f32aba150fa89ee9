// What calibrations are made of: phases without and with something, in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/causal/engine/engine.h"

namespace causalctl::causal {

struct Calibration {
  Engine& engine;
  const EngineParts& parts;
  const std::function<bool()>& stop;  // ends it early
};

// Progress periods of phases without and with something.
using Pairs = std::vector<std::pair<double, double>>;  // off, on

// Pure: the robust mean of log(on/off) over the pairs, as a fraction; nullopt for fewer than three.
std::optional<double> cost_of_pairs(const Pairs& pairs);
// Pure. Of the mean of log(on/off): half of its 95 % interval, by Student's t.
double reach_of(const Pairs& pairs);

// The progress period over one phase, by the point with the most visits; 0: fewer than two visits;
// nullopt: the phase says nothing, for the same reasons as an experiment (judge.h). The phase ends
// when there are enough visits, or after `longest_ns`.
std::optional<double> visits_period(const Calibration& with, Nanoseconds longest_ns);
// The same with nothing asked of any thread. REQUIRES: the engine is Idle or Counting.
std::optional<double> plain_period(const Calibration& with, Nanoseconds longest_ns);

// Judges a phase that began when it was made.
class PhaseJudge {
 public:
  explicit PhaseJudge(const Calibration& with);
  bool says_something() const;

 private:
  const Calibration& with_;
  std::uint64_t lost_before_;
};

// Ends a uniform pause, and lets pauses under way end.
void end_uniform_pause(const Calibration& with);

// Periods of phases in turn, the order changing from pair to pair, so that a drift does not look
// like a cost. `period(on)` runs one, and returns what visits_period() does. The budget is
// overdrawn, up to twice, where the machine's stalls, or few visits, have left it with fewer pairs
// than say anything.
Pairs alternate(const Calibration& with, Nanoseconds budget_ns,
                const std::function<std::optional<double>(bool)>& period);

}  // namespace causalctl::causal

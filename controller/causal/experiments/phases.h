// Calibrations consist of phases without and with something, in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "controller/base/interval.h"
#include "controller/base/types.h"
#include "controller/causal/engine/engine.h"

namespace causalctl::causal {

struct Calibration {
  Engine& engine;
  const EngineParts& parts;
  const std::function<bool()>& stop;  // returns true to end the calibration early
};

// Progress periods of phases without (first) and with something (second).
using Pairs = std::vector<std::pair<double, double>>;

// Returns the robust mean of log(on/off) over the pairs, as a fraction; nullopt if there are fewer
// than three. Pure.
std::optional<double> cost_of_pairs(const Pairs& pairs);
// Returns half of the 95 % interval of the mean of log(on/off), by Student's t. Pure.
double reach_of(const Pairs& pairs);
// Returns the cost with the ends of its 95 % interval; nullopt as cost_of_pairs(). Pure.
std::optional<Interval> cost_interval_of(const Pairs& pairs);

// Returns the progress period over one phase, at the point with the most visits; 0 if it has fewer
// than two. Returns nullopt if the phase says nothing, for the same reasons as an experiment
// (judge.h). The phase ends when there are enough visits, or after `longest_ns`.
std::optional<double> visits_period(const Calibration& with, Nanoseconds longest_ns);
// Does the same without asking anything of any thread. REQUIRES: the engine is Idle or Counting.
std::optional<double> plain_period(const Calibration& with, Nanoseconds longest_ns);

// Judges a phase that begins when the object is made.
class PhaseJudge {
 public:
  explicit PhaseJudge(const Calibration& with);
  bool says_something() const;

 private:
  const Calibration& with_;
  std::uint64_t lost_before_;
};

// Ends a uniform pause, and waits until pauses under way have ended.
void end_uniform_pause(const Calibration& with);

// Returns the periods of phases in turn. Their order changes from pair to pair, so that a drift
// does not look like a cost. `period(on)` runs one phase and returns what visits_period() does. If
// stalls of the machine or few visits leave too few pairs, the phases go on for up to twice the
// budget.
Pairs alternate(const Calibration& with, Nanoseconds budget_ns,
                const std::function<std::optional<double>(bool)>& period);

}  // namespace causalctl::causal

// Makes one experiment: the warm-up, the window that counts, the time in which threads pay what
// they owe, and the cool-off (rules 9 and 10 of docs/virtual-time.md).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "controller/causal/engine/engine.h"
#include "controller/causal/experiments/plan.h"
#include "controller/causal/experiments/settings.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

struct ExperimentRun {
  const Settings& settings;
  const EngineParts& parts;
  Engine& engine;
  const std::function<int()>& interrupts;  // returns how often the user asked for the end
  // Called before each step of the warm-up and of the window, with the time when that began.
  // Returns whether it ends early.
  std::function<bool(Nanoseconds)> ends_early;
  Nanoseconds duration_ns = 0;  // length of the window
  Nanoseconds start_ns = 0;     // when the profile began

  // Fills in `experiment`, which has its unit and speedup. Returns how often each unit was sampled
  // in the window.
  std::vector<std::uint64_t> run(const PlannedExperiment& planned, const Overhead& overhead,
                                 Experiment& experiment) const;

 private:
  void warm_up(Experiment& experiment) const;
  std::vector<std::uint64_t> run_window(Experiment& experiment) const;
  void pay_debts() const;
  void cool_off() const;
};

}  // namespace causalctl::causal

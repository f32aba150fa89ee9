// Decides when a run may end early (--until-certain): when the units that matter are decided. Pure.
//
// Repeating an analysis until something seems significant finds something sooner or later. So
// the error is spent: interim analyses are few, at experiment counts that grow by a quarter, and
// the k-th one decides at the level 6 · kErrorOfAnalyses / (π k)². These levels sum to at most
// kErrorOfAnalyses (alpha spending, after Lan & DeMets, "Discrete Sequential Boundaries for
// Clinical Trials", Biometrika 70 (1983); the union bound is valid however the analyses depend on
// each other). And a decision needs a precise effect, not only one that is not zero. Stopping at a
// lucky moment would make every effect seem too large, stopping at a width does not (Chow &
// Robbins, "On the Asymptotic Theory of Fixed-Width Sequential Confidence Intervals", Annals of
// Mathematical Statistics 36 (1965)).
#pragma once

#include <cstddef>
#include <string>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// The units to decide are at most kUnitsToDecide, those with most samples, each with at least the
// share kShareToDecide of them.
inline constexpr std::size_t kUnitsToDecide = 3;
inline constexpr double kShareToDecide = 0.05;
inline constexpr double kDecidedBound = 0.02;     // no effect is decided within ±2 %
inline constexpr double kDecidedWidth = 1.0 / 3;  // an effect is decided within a third of itself
inline constexpr double kErrorOfAnalyses = 0.05;

class InterimAnalyses {
 public:
  // Returns whether the next analysis is due after `experiments`. REQUIRES: `experiments` never
  // falls.
  bool due(std::size_t experiments);
  double level() const;  // level of the latest analysis

 private:
  std::size_t analyses_ = 0;
  std::size_t next_ = 40;
};

// Returns whether each unit to decide is decided at every progress point; false if there is no such
// unit. If `only_unit` is not empty it alone is measured and must be decided, whatever its share. A
// point that was never visited does not count, unless there is no other.
// REQUIRES: `at_level` is estimate(…, InterimAnalyses::level()), `at_95` is estimate(…).
bool decided(const report::Report& at_level, const report::Report& at_95,
             const std::string& only_unit = "");

// Returns whether a run may end after its latest analysis. `so_far` has the samples until now.
bool enough(Run so_far, const InterimAnalyses& analyses, const std::string& only_unit);

}  // namespace causalctl::causal

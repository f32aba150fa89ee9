// When a run may end early (--until-certain): when the units that matter are decided. Pure.
//
// Analysing again and again until something seems significant finds something sooner or later. It
// is paid for by spending the error: interim analyses are few, at experiment counts that grow by a
// quarter, and the k-th of them decides at the level 6 · kErrorOfAnalyses / (π k)², which sum to
// kErrorOfAnalyses over any number of them (alpha spending, after Lan & DeMets, "Discrete
// Sequential Boundaries for Clinical Trials", Biometrika 70 (1983); the union bound is valid
// however they depend on each other). And a decision needs a precise effect, not only one that is
// not zero: stopping at a lucky moment would make every effect seem too large, stopping at a width
// does not (Chow & Robbins, "On the Asymptotic Theory of Fixed-Width Sequential Confidence
// Intervals", Annals of Mathematical Statistics 36 (1965)).
#pragma once

#include <cstddef>
#include <string>

#include "controller/causal/record/experiment.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

inline constexpr std::size_t kUnitsToDecide = 3;  // those with most samples …
inline constexpr double kShareToDecide = 0.05;    // … that have at least this share of them
inline constexpr double kDecidedBound = 0.02;     // no effect: all is certainly within ±2 %
inline constexpr double kDecidedWidth = 1.0 / 3;  // an effect: known to a third of itself
inline constexpr double kErrorOfAnalyses = 0.05;

class InterimAnalyses {
 public:
  // Whether now, after `experiments`, is the time for the next analysis. REQUIRES: asked in order.
  bool due(std::size_t experiments);
  double level() const;  // of the latest analysis

 private:
  std::size_t analyses_ = 0;
  std::size_t next_ = 40;
};

// At every progress point: each of the units to decide is. False where there is none. Where
// `only_unit` is not empty no other unit is measured, and it alone is to be decided, whatever its
// share. A point that was never visited is not waited for, unless all are such.
// REQUIRES: `at_level` is estimate(…, InterimAnalyses::level()), `at_95` is estimate(…).
bool decided(const report::Report& at_level, const report::Report& at_95,
             const std::string& only_unit = "");

// Whether a run may end after its latest analysis. `so_far`: with the samples until now.
bool enough(Run so_far, const InterimAnalyses& analyses, const std::string& only_unit);

}  // namespace causalctl::causal

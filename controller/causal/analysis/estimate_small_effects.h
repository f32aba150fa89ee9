// Tells how large an effect could still be if no unit is worth optimising, or why the experiments
// cannot tell. Pure.
#pragma once

#include <optional>

#include "controller/report/causal/model.h"

namespace causalctl::causal {

// Returns whether the unit was sampled in most of its experiments with a speedup, and often enough
// in all of them together (ten samples are known to a third). Otherwise hardly anything was sped
// up.
bool was_sped_up(const report::Tested& tested);

// The largest effect that a unit can have. If the unit was sped up, it is the end of the interval,
// provided that this is below what the unit's own time allows. Otherwise it comes from the samples.
struct Bound {
  double effect = 1;  // the effect if the unit takes no time at all
  bool by_experiments = false;
};
Bound bound_of(const report::UnitResult& unit);  // REQUIRES a slope

// What the experiments say of a point at which no unit is worth optimising.
struct SmallEffects {
  std::size_t measured = 0;                // units
  double samples = 0;                      // their share
  std::optional<double> most;              // the largest effect that one of them may have
  std::optional<report::Reason> unknown;   // why `most` is not known
  const report::UnitResult* of = nullptr;  // the unit that decides; none if none was measured
};
SmallEffects small_effects_of(const report::ProgressResult& point);

// Says the same in a sentence that is added to the report's warnings.
Warning told_of(const SmallEffects& small, const std::string& point);

}  // namespace causalctl::causal

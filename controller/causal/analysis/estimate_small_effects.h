// States what a report says if no unit is worth optimising: how large an effect could still be, or
// that the experiments cannot tell. Pure.
#pragma once

#include <optional>

#include "controller/base/types.h"
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

// Returns nullopt if some unit is worth optimising. `period_ns` is the sampling period.
std::optional<Warning> statement_of_small_effects(const report::ProgressResult& point,
                                                  Nanoseconds period_ns);

}  // namespace causalctl::causal

// What a report says where it calls no unit worth optimising: how large an effect could still be,
// or that the experiments cannot tell. Pure.
#pragma once

#include <optional>

#include "controller/base/types.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// In most of its experiments with a speedup the unit was sampled, and in all of them together often
// enough: ten samples are known to a third. Otherwise hardly anything was sped up.
bool was_sped_up(const report::Tested& tested);

// The largest effect that a unit can have. It is the end of an interval where the unit was sped up
// and the interval ends below what its own time allows for. Otherwise the samples alone say it.
struct Bound {
  double effect = 1;  // of a unit that takes no time any more
  bool by_experiments = false;
};
Bound bound_of(const report::UnitResult& unit);  // REQUIRES a slope

// nullopt: some unit is worth optimising. `period_ns`: of sampling.
std::optional<Warning> statement_of_small_effects(const report::ProgressResult& point,
                                                  Nanoseconds period_ns);

}  // namespace causalctl::causal

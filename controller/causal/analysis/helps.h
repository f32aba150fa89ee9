// Tells what would help a run that states nothing: a longer one only where chance is what it
// suffers from, with its length. Pure.
#pragma once

#include <vector>

#include "controller/causal/analysis/estimate_small_effects.h"
#include "controller/report/causal/model.h"

namespace causalctl::causal {

// Shares of the time that threads want to run for which they wait for cores because of other
// processes, from which it matters.
inline constexpr double kBesideOthers = 0.05;
// Longer runs are not advised.
inline constexpr Nanoseconds kLongestAdvised = 7200 * kSecond;

// Returns the reasons that others had the cores.
std::vector<report::Reason> cores_taken(const report::Report& report);

// `small` and `reasons` are those of the point.
std::vector<report::Help> helps_of(const report::Report& report,
                                   const report::ProgressResult& point, const SmallEffects& small,
                                   const std::vector<report::Reason>& reasons);

}  // namespace causalctl::causal

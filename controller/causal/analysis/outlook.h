// Predicts how well a run beside other programs will know its effects, while it can still be ended.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// When the outlook is computed, so that a profile that will say nothing says so within half a
// minute.
inline constexpr Nanoseconds kOutlookAfter = 20 * kSecond;

// A useful profile knows the effect of its hottest unit, made 50 % faster, to ± this.
inline constexpr double kWellKnown = 0.10;

// Returns what to tell the user after `so_far`, which has the samples and the length until now.
// Returns nullopt if other programs do not take the cores, or if the effect of the hottest unit
// will be known well enough at the end. `length_ns` is the length of the whole run, nullopt if the
// user ends it.
std::optional<std::string> outlook_of(Run so_far, std::optional<Nanoseconds> length_ns);

}  // namespace causalctl::causal

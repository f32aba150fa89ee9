// What a run beside other programs will come to, told while it can still be ended. Pure.
#pragma once

#include <optional>
#include <string>

#include "controller/base/types.h"
#include "controller/causal/record/experiment.h"

namespace causalctl::causal {

// When a run is asked; a profile that will say nothing shall say that within half a minute.
inline constexpr Nanoseconds kOutlookAfter = 20 * kSecond;

// How well a useful profile knows the effect of its hottest unit, made 50 % faster.
inline constexpr double kWellKnown = 0.10;

// What to tell the user after `so_far`, whose samples and length are those until now; nullopt:
// other programs do not have the cores, or the effect of the hottest unit will be known well enough
// at the end. `length_ns`: of the whole run; nullopt: until it is ended by hand.
std::optional<std::string> outlook_of(Run so_far, std::optional<Nanoseconds> length_ns);

}  // namespace causalctl::causal

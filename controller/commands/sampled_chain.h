// The call chain of a sample that came with a copied stack.
#pragma once

#include <vector>

#include "controller/base/types.h"
#include "controller/perf/events.h"
#include "unwind/unwinder.h"

namespace causalctl::commands {

inline constexpr unsigned kSampledStackBytes = 8192;

// The whole chain from the copied stack, as most programs keep no frame pointers; where it was not
// copied, the kernel's chain of frame pointers.
std::vector<Address> chain_of(const perf::SampleEvent& sample, unwind::Unwinder& unwinder);

}  // namespace causalctl::commands

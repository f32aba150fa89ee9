// The CPU time of another process, as the kernel counts it (clock_getcpuclockid(3)).
#pragma once

#include <optional>

#include "controller/base/types.h"

namespace causalctl {

// Returns what all threads of the process have used since its start, ended ones included, to the
// nanosecond; also of one that has ended and was not waited for. nullopt if it is gone.
std::optional<Nanoseconds> process_cpu_of(Pid pid);

}  // namespace causalctl

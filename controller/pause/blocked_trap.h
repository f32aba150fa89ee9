// What a kernel does with a shot at a thread that blocks SIGTRAP.
#pragma once

#include <optional>
#include <string>

namespace causalctl::pause {

// nullopt: it leaves the signal pending, as Linux 5.19 does and some stable kernels before it.
// Older ones deliver it by force, which ends the process: any thread blocks all signals for a
// moment when it forks or makes another. Tried once, on a child of ours; else why it must be
// feared.
std::optional<std::string> blocked_trap_problem();

}  // namespace causalctl::pause

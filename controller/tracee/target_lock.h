// One causalctl a target: a lock (flock(2)) on the target's folder of /proc, which the guardian
// holds to its end. The kernel takes it away with its holder, so that none is ever left. Through
// another mount of /proc (a container's, ProtectProc=) it is not seen; a stub is (left_stub.h).
#pragma once

#include <optional>

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

inline constexpr const char* kGuardianName = "causalctl-guard";  // comm: 15 characters at most

// Held as long as the result is open. Throws Error where another causalctl has it, for longer than
// one that was killed takes to tidy up. Empty where the folder cannot be locked, or somebody else
// has locked it: everybody may.
Fd lock_target(Pid target);

// The causalctl, else its guardian, that holds the lock now; nullopt: none, for all that is seen.
std::optional<Pid> locked_by_causalctl(Pid target);

// Throws Error: `target` is being profiled by `causalctl`.
[[noreturn]] void refuse_profiled(Pid target, Pid causalctl);

}  // namespace causalctl::tracee

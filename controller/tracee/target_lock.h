// Each target has one causalctl at most. The guardian holds a lock (flock(2)) on the target's
// folder of /proc to its end; the kernel releases it with its holder, so that none is ever left.
// Through another mount of /proc (a container's, ProtectProc=) it is not seen; a stub is
// (left_stub.h).
#pragma once

#include <optional>

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

inline constexpr const char* kGuardianName = "causalctl-guard";  // comm: 15 characters at most

// The lock is held while the result is open. Throws Error where another causalctl has it for longer
// than one that was killed takes to tidy up. Returns nothing where the folder cannot be locked, or
// another process has locked it, as any process may.
Fd lock_target(Pid target);

// Returns the causalctl (otherwise its guardian) that holds the lock now; nullopt if none is seen.
std::optional<Pid> locked_by_causalctl(Pid target);

// Throws Error: `target` is being profiled by `causalctl`.
[[noreturn]] void refuse_profiled(Pid target, Pid causalctl);

}  // namespace causalctl::tracee

// Whether a process may be a target. The answer comes from /proc; nothing is stopped.
#pragma once

#include <string>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

// Returns what /proc says of it. Throws where it is no process with a program, or `controller`.
procfs::Status check_program(Pid pid, Pid controller);
// Throws Error (TargetGone, UsageError) that names what forbids it and what to do. `controller` is
// the process that asks, which cannot be its own target.
void check_adoptable(Pid pid, Pid controller);
// The same for a process that is only looked at: another tracer may trace it already, and its first
// thread may have ended.
void check_readable(Pid pid, Pid controller);

// Returns what to do where the process, whose owner is this user, cannot be traced.
std::string permission_hint(uid_t owner);

// Says why a process without its first thread is no target.
std::string first_thread_ended(Pid pid);
inline constexpr const char* kWithoutFirstThread = "callpath, record and stacks watch it";

// Throws Error if the program that the process executes is not for x86-64.
void check_64_bit(Pid pid);

}  // namespace causalctl::tracee

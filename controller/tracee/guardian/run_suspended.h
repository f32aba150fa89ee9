// Runs a program that is suspended in a ptrace-stop, and suspends it again. For the guardian.
// Everything here throws TargetGone if the program ends before, and Error if it does not arrive in
// time, or because `controller_is_gone()`.
//
// At its entry point a program is stopped by an int3 in its text, which needs no debug register and
// no right to perf events, and works on every machine. In a target that causalctl has not started
// this is forbidden: if its tracer died, it would meet the int3 alone, and end. Here
//   - the program is ours, and not at its first instruction yet;
//   - PTRACE_O_EXITKILL ends it with us, however we end, before it can meet the int3 alone;
//   - where the controller is gone, the int3 is taken out first, and the program goes on by itself;
//   - what it forks meanwhile is traced until the int3 is taken out of its copy of the page, too.
// So no process that lives on has one. Afterwards the text is what it was, in a page of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

// Runs it until it executes a program, and leaves it at the exit-stop of that exec: in the
// event-stop before, the call's result is still to be written into the registers. REQUIRES: child
// is traced by the caller, with stops at exec, and runs.
void run_to_exec(Pid child, const std::function<bool()>& controller_is_gone);

inline constexpr Nanoseconds kLoadingLimit = 60 * kSecond;

// Runs it until its loader is done and the program's own first instruction is next (that of the
// last program, where it executes others on the way). Where it cannot be stopped there, it is left
// where it is, and the reason is returned. Notes when that takes longer than a second. REQUIRES:
// child is suspended at the exit-stop of its exec.
std::optional<std::string> run_to_entry(Pid child, const std::function<bool()>& controller_is_gone,
                                        Nanoseconds limit_ns = kLoadingLimit);

}  // namespace causalctl::tracee

// The page in which the kernel executes copies of the instructions under uprobes: samples in it are
// a part of what counting costs. The frame pointer or unwind table of the copy's address says
// nothing of its caller.
#pragma once

namespace causalctl {

// Its path in the maps of the target, and as a module (kernel/events/uprobes.c, "xol").
inline constexpr const char* kUprobePage = "[uprobes]";

}  // namespace causalctl

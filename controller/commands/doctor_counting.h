// The ways of counting visits, tried on a function of ours.
#pragma once

#include "controller/base/trial.h"

namespace causalctl::commands {

// Seen where both the event's count and its ring have every hit.
Trial see_breakpoint();
Trial see_uprobe();  // lasts up to some tenths of a second: the kernel closes it slowly

int free_debug_registers();  // of this thread, that perf events can have

}  // namespace causalctl::commands

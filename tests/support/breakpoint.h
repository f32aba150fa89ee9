// Tells whether tests that need a hardware breakpoint can show anything on this machine.
#pragma once

namespace causalctl::test {

// Returns whether a breakpoint on a function of ours fires. Some hypervisors let such an event be
// opened and never fire it. CAUSALCTL_PRETEND_BROKEN=breakpoint makes this false on any machine.
bool breakpoints_fire();

}  // namespace causalctl::test

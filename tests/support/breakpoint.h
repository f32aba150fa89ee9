// Whether tests that need a hardware breakpoint can show anything on this machine.
#pragma once

namespace causalctl::test {

// Seen by a breakpoint on a function of ours. Some hypervisors let such an event be opened and
// never fire it. CAUSALCTL_PRETEND_BROKEN=breakpoint makes this false anywhere.
bool breakpoints_fire();

}  // namespace causalctl::test

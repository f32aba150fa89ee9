// File name, line and function name are those of its twin, to test an ambiguous name.
#include "tests/kernel/progress/probed.h"

namespace probed {

[[gnu::noinline]] static void twin_function() {
  sink = sink + 1;  // line 7
}

void call_twin_a() { twin_function(); }

}  // namespace probed

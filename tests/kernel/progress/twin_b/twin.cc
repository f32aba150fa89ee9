// Same file name, same line and same function name as its twin's: the ambiguous case.
#include "tests/kernel/progress/probed.h"

namespace probed {

[[gnu::noinline]] static void twin_function() {
  sink = sink + 1;  // line 7
}

void call_twin_b() { twin_function(); }

}  // namespace probed

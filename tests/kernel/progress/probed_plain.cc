#include "tests/kernel/progress/probed.h"
#include "tests/kernel/progress/probed_sdt.h"

namespace probed {

[[gnu::noinline]] void plain_probe() {
  TEST_PROBE(plain);
  sink = sink + 1;
  TEST_PROBE(plain);
}

}  // namespace probed

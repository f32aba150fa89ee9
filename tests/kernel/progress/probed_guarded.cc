#define _SDT_HAS_SEMAPHORES 1
#include "tests/kernel/progress/probed.h"
#include "tests/kernel/progress/probed_sdt.h"

extern "C" {
// It is volatile because the kernel writes it.
[[gnu::section(".probes"), gnu::used]] volatile unsigned short causalctl_test_guarded_semaphore = 0;
}

namespace probed {

[[gnu::noinline]] void guarded_probe() {
  if (causalctl_test_guarded_semaphore != 0) {
    TEST_PROBE(guarded);
  }
  sink = sink + 1;
}

unsigned guarded_semaphore() { return causalctl_test_guarded_semaphore; }

}  // namespace probed

/* The program behind the seeds of corpus/elf: two functions, one of them inlined, a loop, a global,
 * a USDT probe with a semaphore. They were made, small, by
 *   gcc -O2 -nostdlib -static-pie -fcf-protection=none -Wl,--build-id,-z,noseparate-code …
 * with -gdwarf-5, -gdwarf-4, -gdwarf-5 -gz, and -s. */
#define _SDT_HAS_SEMAPHORES 1
#include "tests/kernel/progress/probed_sdt.h"

unsigned short causalctl_test_step_semaphore __attribute__((section(".probes")));
volatile int total;

static inline int square(int x) {
  const int y = x + total;
  return y * y;
}

__attribute__((noinline)) int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += square(i);
    TEST_PROBE(step);
  }
  return sum;
}

void _start(void) {
  total = work(10);
  for (;;) {
  }
}

// Functions at whose entry nothing ever passes, each for a reason of its own: all calls inlined,
// never called, entered once before anybody looks.
#include "harness.h"

static uint64_t iterations;
static atomic_int wanted;  // nobody sets it

static NOINLINE void work(uint64_t steps) {
  for (uint64_t x = 0, step = 1; x < steps; x++) SPIN(step);
}

void inlined_done(void) { count_round(); }

NOINLINE void never_called(void) { count_round(); }

static NOINLINE void* endless(void* unused) {
  while (!stopping()) {
    work(iterations);
    inlined_done();
    if (atomic_load(&wanted) != 0) never_called();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {{NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "one thread whose rounds no function's entry tells of", own);
  iterations = (uint64_t)(calibrate("work", work) * 5);
  pthread_t* workers = start_workers(1, endless);
  ready();
  wait_for_end();
  join_workers(workers, 1);
  return finish();
}

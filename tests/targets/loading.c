// Works as figure1 does, and has a library that does what its first argument says while it is
// loaded: loading_library.c.
#include <stdio.h>

#include "harness.h"

extern int signals_counted(void);

static uint64_t iterations;

static NOINLINE void work(uint64_t count) {
  for (uint64_t x = 0, step = 1; x < count; x++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

static void* run(void* unused) {
  while (!stopping()) {
    work(iterations);
    round_done();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {{NULL, NULL, NULL, NULL}};
  // The first one is the library's.
  harness_start(argc - 1, argv + 1, "works; point: round_done", own);
  iterations = (uint64_t)(calibrate("work", work) * 5);
  ready();
  pthread_t* workers = start_workers(1, run);
  wait_for_end();
  join_workers(workers, 1);
  printf("signals %d\n", signals_counted());
  return finish();
}

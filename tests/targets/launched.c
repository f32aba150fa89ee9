// The library of launcher.c: the first thread works, another waits for the end.
#include <pthread.h>

#include "harness.h"

static uint64_t iterations;

static NOINLINE void work(uint64_t steps) {
  for (uint64_t x = 0, step = 1; x < steps; x++) SPIN(step);
}

NOINLINE void launched_round(void) { count_round(); }

static void* wait(void* unused) {
  wait_for_end();
  return unused;
}

int launched_main(int argc, char** argv) {
  const struct own_option own[] = {{NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "one thread in a library; point: launched_round", own);
  iterations = (uint64_t)(calibrate("work", work) * 5);
  ready();
  pthread_t waiting;
  if (pthread_create(&waiting, NULL, wait, NULL) != 0) die("pthread_create");
  while (!stopping()) {
    work(iterations);
    launched_round();
  }
  pthread_join(waiting, NULL);
  return finish();
}

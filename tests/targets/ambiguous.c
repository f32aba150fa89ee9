// Two functions of one name, here and in ambiguous_other.c: a progress point by that name is
// ambiguous.
#include <pthread.h>

#include "harness.h"

void other_round(void);

static uint64_t round_iterations;

static NOINLINE void work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void same_name(void) { count_round(); }

static void* run(void* unused) {
  while (!stopping()) {
    work(round_iterations);
    same_name();
    other_round();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {{NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "two functions of one name; point: same_name", own);
  round_iterations = (uint64_t)calibrate("work", work) * 10;
  ready();
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) die("pthread_create");
  wait_for_end();
  pthread_join(thread, NULL);
  return finish();
}

void same_line_first(void);
// A line that this file and the other one have under one name, in different folders.
#line 7 "first/same.c"
void same_line_first(void) { count_round(); }

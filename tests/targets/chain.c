// Two pieces of work, one after the other, in one thread or in several identical ones that never
// meet. Speeding a piece up by s gains s of its share of the round. A decoy thread can run beside
// them: it takes as many samples as they do and never makes anybody wait, so it gains nothing.
#include <pthread.h>
#include <stdlib.h>

#include "harness.h"

static double threads = 1;
static double first_ms = 3;
static double second_ms = 7;
static double decoy_ms = 0;
static double first_factor = 1;
static double second_factor = 1;
static double decoy_factor = 1;

static uint64_t first_iterations;
static uint64_t second_iterations;
static uint64_t decoy_iterations;

static NOINLINE void first_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void second_work(uint64_t iterations) {
  for (uint64_t y = 0, step = 1; y < iterations; y++) SPIN(step);
}

static NOINLINE void decoy_work(uint64_t iterations) {
  for (uint64_t z = 0, step = 1; z < iterations; z++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

static void* work(void* unused) {
  while (!stopping()) {
    first_work(first_iterations);
    second_work(second_iterations);
    round_done();
  }
  return unused;
}

// Rests a millisecond in each turn, so that the twin without work is not a loop at full speed.
static void* distract(void* unused) {
  while (!stopping()) {
    decoy_work(decoy_iterations);
    wait_for_device(1);
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--threads", &threads, NULL, "number of identical workers (1)"},
      {"--first-ms", &first_ms, NULL, "first piece of work (3)"},
      {"--second-ms", &second_ms, NULL, "second piece of work (7)"},
      {"--decoy-ms", &decoy_ms, NULL, "a decoy thread works so long, then rests 1 ms (0: none)"},
      {"--first-factor", &first_factor, NULL, "multiplies the first piece (twin)"},
      {"--second-factor", &second_factor, NULL, "multiplies the second piece (twin)"},
      {"--decoy-factor", &decoy_factor, NULL, "multiplies the decoy's work (twin)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "two pieces of work in turn; point: round_done", own);
  first_iterations = (uint64_t)(calibrate("first", first_work) * first_ms * first_factor);
  second_iterations = (uint64_t)(calibrate("second", second_work) * second_ms * second_factor);
  decoy_iterations = (uint64_t)(calibrate("decoy", decoy_work) * decoy_ms * decoy_factor);
  const size_t count = (size_t)threads;
  ready();
  pthread_t* workers = start_workers(count, work);
  pthread_t decoy;
  if (decoy_ms > 0 && pthread_create(&decoy, NULL, distract, NULL) != 0) die("pthread_create");
  wait_for_end();
  join_workers(workers, count);
  if (decoy_ms > 0) pthread_join(decoy, NULL);
  return finish();
}

// One thread, whose work() takes all of a round's time (10 ms): three quarters of it when often()
// calls it and a quarter when rarely() does. Making only the calls from one of them faster is what
// a virtual speedup of a call path predicts (docs/truth.md).
#include "harness.h"

static double round_ms = 10;
static double often_factor = 1;
static double rarely_factor = 1;

static uint64_t often_iterations;
static uint64_t rarely_iterations;
static volatile uint64_t calls;

static NOINLINE void work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

// Both count after the call, so that it is no jump.
static NOINLINE void often(void) {
  work(often_iterations);
  calls = calls + 1;
}

static NOINLINE void rarely(void) {
  work(rarely_iterations);
  calls = calls + 1;
}

// Calls work() through often(), as a path with a gap in it names.
static NOINLINE void many_times(void) {
  often();
  calls = calls + 1;
}

static NOINLINE void round_done(void) { count_round(); }

static void* run(void* unused) {
  while (!stopping()) {
    many_times();
    rarely();
    round_done();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--round-ms", &round_ms, NULL, "length of a round (10)"},
      {"--often-factor", &often_factor, NULL,
       "multiplies the work that often() has done: 0.5 is its twin, twice as fast"},
      {"--rarely-factor", &rarely_factor, NULL, "the same for rarely()"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "one function with two callers; point: round_done", own);
  const double per_round = calibrate("work", work) * round_ms;
  often_iterations = (uint64_t)(per_round * 0.75 * often_factor);
  rarely_iterations = (uint64_t)(per_round * 0.25 * rarely_factor);
  ready();
  pthread_t* worker = start_workers(1, run);
  wait_for_end();
  join_workers(worker, 1);
  return finish();
}

// A contended lock: each thread works with the lock held, then without it. With enough threads the
// held part is the bottleneck; the other part only fills the waiting.
#include <pthread.h>
#include <stdlib.h>

#include "harness.h"

static double threads = 3;
static double held_us = 200;
static double outside_us = 300;
static double held_factor = 1;
static double outside_factor = 1;

static uint64_t held_iterations;
static uint64_t outside_iterations;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void held_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void outside_work(uint64_t iterations) {
  for (uint64_t y = 0, step = 1; y < iterations; y++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

static void* work(void* unused) {
  while (!stopping()) {
    pthread_mutex_lock(&mutex);
    held_work(held_iterations);
    pthread_mutex_unlock(&mutex);
    outside_work(outside_iterations);
    round_done();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--threads", &threads, NULL, "number of threads (3)"},
      {"--held-us", &held_us, NULL, "work with the lock held (200)"},
      {"--outside-us", &outside_us, NULL, "work without it (300)"},
      {"--held-factor", &held_factor, NULL, "multiplies the held work (twin)"},
      {"--outside-factor", &outside_factor, NULL, "multiplies the other work (twin)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "threads that contend for one lock; point: round_done", own);
  held_iterations = (uint64_t)(calibrate("held", held_work) * held_us / 1000 * held_factor);
  outside_iterations =
      (uint64_t)(calibrate("outside", outside_work) * outside_us / 1000 * outside_factor);
  const size_t count = (size_t)threads;
  ready();
  pthread_t* workers = start_workers(count, work);
  wait_for_end();
  join_workers(workers, count);
  return finish();
}

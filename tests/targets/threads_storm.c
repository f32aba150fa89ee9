// Creates and ends about 1000 threads a second, each with a little work.
#include <pthread.h>
#include <time.h>

#include "harness.h"

enum { kBatch = 10 };

static double rate = 1000;
static double work_us = 200;
static uint64_t iterations_each;

static NOINLINE void short_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void item_done(void) { count_round(); }

static void* live_and_die(void* unused) {
  short_work(iterations_each);
  item_done();
  return unused;
}

static void* create_all(void* unused) {
  const long pause_ns = (long)(kBatch * 1e9 / rate);
  const struct timespec between = {pause_ns / 1000000000, pause_ns % 1000000000};
  while (!stopping()) {
    pthread_t threads[kBatch];
    for (int i = 0; i < kBatch; i++) {
      if (pthread_create(&threads[i], NULL, live_and_die, NULL) != 0) die("pthread_create");
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &between, NULL);
    for (int i = 0; i < kBatch; i++) pthread_join(threads[i], NULL);
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {{"--rate", &rate, NULL, "threads a second (1000)"},
                                   {"--work-us", &work_us, NULL, "work of each thread (200)"},
                                   {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "a storm of short-lived threads; point: item_done", own);
  iterations_each = (uint64_t)(calibrate("short", short_work) * work_us / 1000);
  ready();
  pthread_t creator;
  if (pthread_create(&creator, NULL, create_all, NULL) != 0) die("pthread_create");
  wait_for_end();
  pthread_join(creator, NULL);
  return finish();
}

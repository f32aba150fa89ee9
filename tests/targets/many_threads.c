// Many threads, nearly all blocked on one condition, and a few that work in rounds.
// `--blocked 0 --busy 1` is the one-thread program that leaves a core idle.
#include <pthread.h>
#include <stdlib.h>

#include "harness.h"

static double blocked = 200;
static double busy = 2;
static double round_ms = 10;

static uint64_t round_iterations;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static bool over;

static NOINLINE void busy_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

static void* run_busy(void* unused) {
  while (!stopping()) {
    busy_work(round_iterations);
    round_done();
  }
  return unused;
}

static void* run_blocked(void* unused) {
  pthread_mutex_lock(&mutex);
  while (!over) pthread_cond_wait(&ended, &mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {{"--blocked", &blocked, NULL, "threads that only wait (200)"},
                                   {"--busy", &busy, NULL, "threads that work (2)"},
                                   {"--round-ms", &round_ms, NULL, "work of a round (10)"},
                                   {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "many blocked and a few busy threads; point: round_done", own);
  round_iterations = (uint64_t)(calibrate("busy", busy_work) * round_ms);
  const size_t busy_count = (size_t)busy;
  const size_t count = busy_count + (size_t)blocked;
  pthread_t* threads = calloc(count + 1, sizeof(*threads));
  if (!threads) die("calloc");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  for (size_t i = 0; i < count; i++) {
    void* (*role)(void*) = i < busy_count ? run_busy : run_blocked;
    if (pthread_create(&threads[i], &attributes, role, NULL) != 0) die("pthread_create");
  }
  ready();
  wait_for_end();
  pthread_mutex_lock(&mutex);
  over = true;
  pthread_cond_broadcast(&ended);
  pthread_mutex_unlock(&mutex);
  for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
  free(threads);
  return finish();
}

// An oversubscribed pool: more workers than cores take tasks from a shared counter under a lock.
// The cores are the bottleneck, so speeding the task up by s gains about s of its share.
#include <pthread.h>
#include <stdlib.h>

#include "harness.h"

static double threads = 8;
static double task_us = 500;
static double take_us = 20;
static double task_factor = 1;
static double take_factor = 1;

static uint64_t task_iterations;
static uint64_t take_iterations;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_task;

static NOINLINE void take_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void task_work(uint64_t iterations) {
  for (uint64_t y = 0, step = 1; y < iterations; y++) SPIN(step);
}

static NOINLINE void item_done(void) { count_round(); }

static void* work(void* unused) {
  while (!stopping()) {
    pthread_mutex_lock(&mutex);
    take_work(take_iterations);
    next_task++;
    pthread_mutex_unlock(&mutex);
    task_work(task_iterations);
    item_done();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--threads", &threads, NULL, "number of workers (8)"},
      {"--task-us", &task_us, NULL, "work of a task (500)"},
      {"--take-us", &take_us, NULL, "work to take one, lock held (20)"},
      {"--task-factor", &task_factor, NULL, "multiplies the work of a task (twin)"},
      {"--take-factor", &take_factor, NULL, "multiplies the work to take one (twin)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "a pool with more workers than cores; point: item_done", own);
  task_iterations = (uint64_t)(calibrate("task", task_work) * task_us / 1000 * task_factor);
  take_iterations = (uint64_t)(calibrate("take", take_work) * take_us / 1000 * take_factor);
  const size_t count = (size_t)threads;
  ready();
  pthread_t* workers = start_workers(count, work);
  wait_for_end();
  join_workers(workers, count);
  return finish();
}

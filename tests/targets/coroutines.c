// Threads that work on the small stacks of coroutines, and now and then on their own. Each stack is
// a mapping with a page below that is not there, or lies on the heap between canaries, which are
// looked at in each round: what is written there ends the program.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "harness.h"

enum { kFibers = 2, kPage = 4096, kCanary = 8192, kCanaryByte = 0xa5 };

static double threads = 2;
static double stack_bytes = 2048;
static double home_us = 0;
static double fiber_us = 1000;
static const char* kind = "mapped";

static uint64_t home_iterations;
static uint64_t fiber_iterations;

struct worker {
  ucontext_t home;
  ucontext_t fibers[kFibers];
  unsigned char* canaries[kFibers];  // NULL: it is mapped
};
static _Thread_local struct worker* self;

static NOINLINE void home_work(uint64_t count) {
  for (uint64_t x = 0, step = 1; x < count; x++) SPIN(step);
}

static NOINLINE void fiber_work(uint64_t count) {
  for (uint64_t y = 0, step = 1; y < count; y++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

static void run_fiber(int number) {
  for (;;) {
    fiber_work(fiber_iterations);
    swapcontext(&self->fibers[number], &self->home);
  }
}

static void check_canaries(const unsigned char* block) {
  const size_t size = (size_t)stack_bytes;
  for (size_t i = 0; i < kCanary; i++) {
    if (block[i] != kCanaryByte || block[kCanary + size + i] != kCanaryByte) {
      die("a canary beside a stack was overwritten");
    }
  }
}

static char* make_stack(unsigned char** canaries) {
  const size_t size = (size_t)stack_bytes;
  if (strcmp(kind, "heap") == 0) {
    unsigned char* block = malloc(size + (size_t)2 * kCanary);
    if (block == NULL) die("malloc");
    memset(block, kCanaryByte, size + (size_t)2 * kCanary);
    *canaries = block;
    return (char*)block + kCanary;
  }
  char* map = mmap(NULL, (size_t)4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED || mprotect(map + kPage, kPage, PROT_READ | PROT_WRITE) != 0) die("mmap");
  return map + kPage;
}

static void* work(void* unused) {
  struct worker* worker = calloc(1, sizeof *worker);
  if (worker == NULL) die("calloc");
  self = worker;
  for (int i = 0; i < kFibers; i++) {
    ucontext_t* fiber = &worker->fibers[i];
    getcontext(fiber);
    fiber->uc_stack.ss_sp = make_stack(&worker->canaries[i]);
    fiber->uc_stack.ss_size = (size_t)stack_bytes;
    makecontext(fiber, (void (*)(void))run_fiber, 1, i);
  }
  while (!stopping()) {
    for (int i = 0; i < kFibers; i++) {
      if (home_iterations > 0) home_work(home_iterations);
      swapcontext(&worker->home, &worker->fibers[i]);
      if (worker->canaries[i] != NULL) check_canaries(worker->canaries[i]);
    }
    round_done();
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--threads", &threads, NULL, "number of workers (2)"},
      {"--stack", &stack_bytes, NULL, "bytes of a coroutine's stack, 4096 at most (2048)"},
      {"--home-us", &home_us, NULL, "work on a thread's own stack, at a time (0)"},
      {"--fiber-us", &fiber_us, NULL, "work on a coroutine's, at a time (1000)"},
      {"--kind", NULL, &kind, "mapped, or heap (mapped)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "coroutines on small stacks; point: round_done", own);
  home_iterations = (uint64_t)(calibrate("home", home_work) * home_us / 1000);
  fiber_iterations = (uint64_t)(calibrate("fiber", fiber_work) * fiber_us / 1000);
  const size_t count = (size_t)threads;
  ready();
  pthread_t* workers = start_workers(count, work);
  wait_for_end();
  join_workers(workers, count);
  return finish();
}

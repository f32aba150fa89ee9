// Its first thread ends at once, and another one works on for ever.
#include <pthread.h>

#include "harness.h"

static NOINLINE void work(uint64_t count) {
  for (uint64_t x = 0, step = 1; x < count; x++) SPIN(step);
}

static NOINLINE void round_done(void) { __asm__ volatile(""); }

static void* run(void* unused) {
  const uint64_t about_a_millisecond = 1000000;
  for (;;) {
    work(about_a_millisecond);
    round_done();
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) die("pthread_create");
  pthread_exit(NULL);
}

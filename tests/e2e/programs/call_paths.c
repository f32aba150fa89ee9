// The program of csprof's Figure 1, beside a thread that waits: a() calls c() twice and b() calls
// it four times, and both get the same time in it. gprof divides c's time by the number of calls.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

static volatile uint64_t sink;

KEPT static void c(uint64_t work) {
  for (uint64_t x = 0; x < work; x++) sink += x;
}

KEPT static void a(void) {
  for (int i = 0; i < 2; i++) c(40000);
  sink++;
}

KEPT static void b(void) {
  for (int i = 0; i < 4; i++) c(20000);
  sink++;
}

KEPT static void waits_for_a_tick(void) {
  const struct timespec tick = {0, 5000000};
  nanosleep(&tick, NULL);
  sink++;
}

static void* rest(void* unused) {
  prctl(PR_SET_NAME, "resting");
  for (;;) waits_for_a_tick();
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  const struct timespec begin_later = {0, 50000000};
  pthread_create(&thread, NULL, rest, NULL);
  nanosleep(&begin_later, NULL);
  puts("ready");
  fflush(stdout);
  for (long rounds = argc > 1 ? atol(argv[1]) : -1; rounds != 0; rounds--) {
    a();
    b();
  }
  return 0;
}

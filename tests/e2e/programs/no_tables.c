/* Two threads that sort, by a call through a pointer: the main thread below run_main(), the other
   below run_other(). Where the C library has no unwind tables, neither does its start-up code. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 2000 };

volatile int sink;

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

__attribute__((noinline)) void sort_all(int seed) {
  int values[kCount];
  for (int i = 0; i < kCount; ++i) values[i] = (i * 7919 + seed) % 2003;
  qsort(values, kCount, sizeof *values, compare);
  sink += values[3];
}

__attribute__((noinline)) void run_main(void) {
  for (int i = 0;; ++i) sort_all(i);
}

__attribute__((noinline)) void* run_other(void* unused) {
  for (int i = 0;; ++i) sort_all(i);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run_other, NULL);
  puts("ready");
  fflush(stdout);
  run_main();
}

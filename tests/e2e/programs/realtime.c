// As many threads as the first argument says work on pieces: "naps" says that they sleep between
// them, "spins" that they do not.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int naps;

__attribute__((noinline)) void item_done(void) { __asm__ volatile(""); }

static void* work(void* none) {
  for (;;) {
    for (volatile int i = 0; i < 200000; i++) {
    }
    item_done();
    if (naps) usleep(2000);
  }
  return none;
}

int main(int count, char** arguments) {
  const int threads = count > 2 ? atoi(arguments[1]) : 1;
  naps = count > 2 && strcmp(arguments[2], "naps") == 0;
  for (int i = 1; i < threads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  }
  puts("ready");
  fflush(stdout);
  work(NULL);
}

// Loads and unloads its two libraries in turn; at the same address, mostly. `swap MILLISECONDS`.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void first_done(void) { __asm__ volatile("" ::: "memory"); }

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char** words) {
  const double period = count > 1 ? atof(words[1]) / 1e3 : 1;
  for (int turn = 0;; ++turn) {
    void* library = dlopen(turn % 2 == 0 ? "./libfirst.so" : "./libsecond.so", RTLD_NOW);
    if (library == NULL) return 1;
    void (*work)(void) = (void (*)(void))dlsym(library, "work");
    const double end = now() + period;
    if (turn == 0) {
      puts("ready");
      fflush(stdout);
    }
    while (now() < end) {
      work();
      if (turn % 2 == 0) first_done();
      usleep(500);
    }
    dlclose(library);
  }
}

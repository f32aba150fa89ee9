// Loads and unloads its two libraries in turn, at one address mostly, and works in each for a
// while: `reuses_address MICROSECONDS`. What calls a library says which one it is.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

typedef uint64_t work_t(uint64_t);

static volatile uint64_t sink;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

KEPT static void calls_first(work_t* work) { sink = work(300) + 1; }

KEPT static void calls_second(work_t* work) { sink = work(300) + 2; }

int main(int count, char** words) {
  const double longest = count > 1 ? atof(words[1]) / 1e6 : 2e-3;
  uint64_t places[2] = {0, 0};
  uint64_t same = 0;
  srand(1);
  for (uint64_t turn = 0;; ++turn) {
    const int first = turn % 2 == 0;
    void* library = dlopen(first ? "./libfirst.so" : "./libsecond.so", RTLD_NOW);
    if (library == NULL) return 1;
    work_t* work = (work_t*)dlsym(library, "work");
    places[turn % 2] = (uint64_t)work & ~(uint64_t)0xfff;
    same += places[0] == places[1];
    if (turn == 20) {
      puts(same > 9 ? "ready" : "the libraries are at different addresses");
      fflush(stdout);
    }
    const double end = now() + longest * rand() / RAND_MAX;
    while (now() < end) {
      if (first) {
        calls_first(work);
      } else {
        calls_second(work);
      }
    }
    dlclose(library);
  }
}

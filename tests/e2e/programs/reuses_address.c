// Loads and unloads its two libraries in turn, at one address mostly, and works in each for a
// while: `reuses_address MICROSECONDS [SHARE]`, at most MICROSECONDS in each, in the first for this
// share of the time (0.5). What calls a library says which one it is. On SIGTERM it prints the CPU
// time in the first and in the second one, in seconds, and ends.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

typedef uint64_t work_t(uint64_t);

static volatile uint64_t sink;
static volatile sig_atomic_t is_over;

static void end(int signal) { is_over = signal; }

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

KEPT static void calls_first(work_t* work) { sink = work(300) + 1; }

KEPT static void calls_second(work_t* work) { sink = work(300) + 2; }

KEPT void turn_done(void) { ++sink; }

int main(int count, char** words) {
  const double longest = count > 1 ? atof(words[1]) / 1e6 : 2e-3;
  const double share = count > 2 ? atof(words[2]) : 0.5;
  double used[2] = {0, 0};
  uint64_t places[2] = {0, 0};
  uint64_t same = 0;
  signal(SIGTERM, end);
  srand(1);
  for (uint64_t turn = 0; !is_over; ++turn) {
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
    const double length = longest * rand() / RAND_MAX * 2 * (first ? share : 1 - share);
    const double used_before = now(CLOCK_THREAD_CPUTIME_ID);
    const double end_of_turn = now(CLOCK_MONOTONIC) + length;
    while (now(CLOCK_MONOTONIC) < end_of_turn) {
      if (first) {
        calls_first(work);
      } else {
        calls_second(work);
      }
    }
    used[turn % 2] += now(CLOCK_THREAD_CPUTIME_ID) - used_before;
    turn_done();
    dlclose(library);
  }
  printf("%.6f %.6f\n", used[0], used[1]);
  return 0;
}

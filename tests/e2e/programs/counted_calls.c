// Calls counted() a number of times that is known, one quarter of them through little() and three
// through much(), and prints how often. The first argument says how: `once`, in one thread;
// `threads`, in many threads, each of which calls it at once and ends soon, four at a time, while a
// child process does so, too, whose calls are not among those that it prints; `rest`, at the speed
// of the second argument, in microseconds from one to the next (0: without rest), until it is
// killed; `fiftieth`, with more work in each call, rarely() once for 50 calls, which come in 0.3 s
// of each second.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone, noipa))

enum { rounds = 2500, threads = 120, at_a_time = 4, of_thread = 5 };

static atomic_ulong calls;
static volatile unsigned long sink;

KEPT void counted(unsigned long work) {
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  for (unsigned long i = 0; i < work; i++) sink = i;
}

KEPT void never(void) { sink = 1; }

KEPT void rarely(void) { sink = 2; }

KEPT void little(void) {
  counted(200);
  sink = 2;
}

KEPT void much(void) {
  for (int i = 0; i < 3; i++) counted(200);
  sink = 3;
}

static void* begin(void* unused) {
  for (int i = 0; i < of_thread; i++) {
    little();
    much();
  }
  return unused;
}

static void in_threads(void) {
  for (int i = 0; i < threads; i += at_a_time) {
    pthread_t all[at_a_time];
    for (int j = 0; j < at_a_time; j++) pthread_create(&all[j], NULL, begin, NULL);
    for (int j = 0; j < at_a_time; j++) pthread_join(all[j], NULL);
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "once";
  const struct timespec pause = {0, argc > 2 ? atol(argv[2]) * 1000 : 0};
  if (argc > 3) never();
  if (strcmp(how, "threads") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      begin(NULL);
      _exit(0);
    }
    in_threads();
    waitpid(child, NULL, 0);
  } else if (strcmp(how, "once") == 0) {
    for (int i = 0; i < rounds; i++) {
      little();
      much();
    }
  } else if (strcmp(how, "fiftieth") == 0) {
    puts("ready");
    fflush(stdout);
    for (;;) {
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (now.tv_nsec > 300000000) {
        usleep(1000);
        continue;
      }
      for (int i = 0; i < 50; i++) counted(20000);
      rarely();
    }
  } else {
    puts("ready");
    fflush(stdout);
    for (;;) {
      little();
      much();
      if (pause.tv_nsec > 0) nanosleep(&pause, NULL);
    }
  }
  printf("calls: %lu\n", calls);
  return 0;
}

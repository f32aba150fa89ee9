// Programs whose time is easily missing, or in the wrong place; the first argument chooses one.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline))

static volatile long sink;

KEPT static void burn(long rounds) {
  for (volatile long i = 0; i < rounds; i++) {
  }
}

// A loop that is stopped, frozen or held back.
KEPT static void work(void) {
  burn(300000);
  sink++;
}

// A loop that leaves its core more often than switches are sampled.
KEPT static void naps(void) {
  const struct timespec time = {0, 1000};
  nanosleep(&time, NULL);
  sink++;
}

// A recursion that is deeper than any copy of a stack.
KEPT static void leaf(void) {
  burn(100000000);
  sink++;
}
// NOLINTNEXTLINE(misc-no-recursion)
KEPT static void down(int depth) {
  if (depth > 0) {
    down(depth - 1);
  } else {
    leaf();
  }
  sink++;
}

// Threads that end after a millisecond of CPU time.
KEPT static void* request(void* unused) {
  struct timespec used;
  do {
    burn(1000);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while (used.tv_nsec < 1000000);
  return unused;
}

// A pool that waits for work that never comes: each worker blocks as soon as it is born.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_is_there = PTHREAD_COND_INITIALIZER;
KEPT static void wait_for_work(void) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&work_is_there, &mutex);
}
static void* worker(void* unused) {
  wait_for_work();
  return unused;
}
static int pool(void) {
  for (int i = 0; i < 8; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL) != 0) return 1;
  }
  const struct timespec time = {1, 500000000};
  nanosleep(&time, NULL);
  return 0;
}

// A second of CPU time in the vdso, which is in no file.
static int ask_the_time(void) {
  struct timespec time;
  do {
    for (int i = 0; i < 100000; i++) clock_gettime(CLOCK_MONOTONIC, &time);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  } while (time.tv_sec < 1);
  return 0;
}

int main(int count, char** words) {
  const char* kind = count > 1 ? words[1] : "";
  puts("ready");
  fflush(stdout);
  if (strcmp(kind, "pool") == 0) return pool();
  if (strcmp(kind, "clock") == 0) return ask_the_time();
  for (long n = 0;; n++) {
    if (strcmp(kind, "deep") == 0) {
      down(5000);
    } else if (strcmp(kind, "naps") == 0) {
      burn(3000);
      naps();
    } else if (strcmp(kind, "threads") == 0) {
      pthread_t thread;
      if (pthread_create(&thread, NULL, request, NULL) == 0) pthread_join(thread, NULL);
    } else {
      char name[16];
      snprintf(name, sizeof name, "req-%ld", n);
      if (strcmp(kind, "names") == 0) prctl(PR_SET_NAME, name);
      work();
    }
  }
}

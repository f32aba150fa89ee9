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

int main(int count, char** words) {
  const char* kind = count > 1 ? words[1] : "";
  puts("ready");
  fflush(stdout);
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

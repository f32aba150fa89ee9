// Requests, from req_begin() to req_done(), of 5 ms each. The first argument says how: `thread`, a
// thread for each; `fork`, which the process begins and a child ends; `more`, on one thread, where
// every fifth is followed by an end that has no begin; `long`, on one thread, one after the other,
// where every tenth lasts 400 ms.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone, noipa))

KEPT void req_begin(void) { __asm__ volatile("nop"); }
KEPT void req_done(void) { __asm__ volatile("nop"); }

static void rest(long ms) {
  const struct timespec length = {0, ms * 1000000};
  nanosleep(&length, NULL);
}

static void serve_long(long number) {
  req_begin();
  rest(number % 10 ? 5 : 400);
  req_done();
}

static void* serve(void* unused) {
  req_begin();
  rest(5);
  req_done();
  return unused;
}

static void serve_on_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, serve, NULL) == 0) pthread_detach(thread);
  rest(10);
}

static void serve_in_child(void) {
  req_begin();
  if (fork() == 0) {
    rest(5);
    req_done();
    rest(40);  // so that there is a child whenever somebody looks
    _exit(0);
  }
  rest(10);
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  signal(SIGCHLD, SIG_IGN);
  puts("ready");
  fflush(stdout);
  for (long number = 1;; number++) {
    if (strcmp(arguments[1], "thread") == 0) {
      serve_on_thread();
    } else if (strcmp(arguments[1], "fork") == 0) {
      serve_in_child();
    } else if (strcmp(arguments[1], "long") == 0) {
      serve_long(number);
    } else {
      serve(NULL);
      rest(2);
      if (number % 5 == 0) req_done();
    }
  }
}

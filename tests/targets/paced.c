// A server whose requests come at their own pace: their source, another process, does not wait for
// the answers. No code of the server changes how many are answered a second, as long as it keeps
// up; but it changes how long each takes.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

enum { kMostWorkers = 64, kStopped = 50000000 /* ns */ };

static double workers = 1;
static double every_us = 2000;
static double answer_us = 1000;
static double random_gaps = 1;
static double answer_factor = 1;

static uint64_t answer_iterations;
static int line[2];  // [0]: the source's end, [1]: the server's

static NOINLINE void answer_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void request_done(void) { count_round(); }

static void* serve(void* unused) {
  char byte;
  for (;;) {
    const ssize_t got = recv(line[1], &byte, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) return unused;
    answer_work(answer_iterations);
    request_done();
  }
}

// The other process; it ends with the connection, or with us. What does not fit in the socket is
// dropped, as by a network. Having been stopped for a while, it does not make up for it.
static void be_source(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_TIMERSLACK, 1UL);
  unsigned short seed[3] = {1, 2, 3};
  int64_t next_ns = now_ns();
  for (;;) {
    const double gap = random_gaps != 0 ? 2 * erand48(seed) : 1;
    next_ns += (int64_t)(gap * every_us * 1000);
    if (now_ns() - next_ns > kStopped) next_ns = now_ns();
    const struct timespec at = {next_ns / 1000000000, next_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) continue;
    if (send(line[0], "r", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN) _exit(0);
  }
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--workers", &workers, NULL, "threads of the server (1)"},
      {"--every-us", &every_us, NULL, "mean time between two requests (2000)"},
      {"--answer-us", &answer_us, NULL, "work for an answer (1000)"},
      {"--random-gaps", &random_gaps, NULL,
       "1: the times between requests are random, 0 to twice the mean (1)"},
      {"--answer-factor", &answer_factor, NULL, "multiplies the work for an answer (twin)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "requests at their own pace; point: request_done", own);
  if (workers < 1 || workers > kMostWorkers) {
    fprintf(stderr, "--workers: 1 to %d\n", kMostWorkers);
    return 2;
  }
  answer_iterations =
      (uint64_t)(calibrate("answer", answer_work) * answer_us / 1000 * answer_factor);
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, line) != 0) die("socketpair");
  const pid_t source = fork();
  if (source < 0) die("fork");
  if (source == 0) be_source();
  ready();
  pthread_t* threads = start_workers((size_t)workers, serve);
  wait_for_end();
  kill(source, SIGKILL);
  waitpid(source, NULL, 0);
  shutdown(line[1], SHUT_RDWR);
  join_workers(threads, (size_t)workers);
  return finish();
}

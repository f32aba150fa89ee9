// A server and its clients, which are another process on the same cores: each worker has one
// client, and each waits for the other. A worker works before it answers and, while the client has
// the answer, after it. With more workers than cores it is the cores that are short: a request
// gains what its work costs less, wherever that is. With one worker and two cores the work after
// the answer is hidden behind the client's, and gains nothing.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { kMostWorkers = 64 };

static double workers = 4;
static double answer_us = 500;
static double after_us = 250;
static double client_us = 250;
static double answer_factor = 1;
static double after_factor = 1;

static uint64_t answer_iterations;
static uint64_t after_iterations;
static uint64_t client_iterations;
static int lines[kMostWorkers][2];  // [0]: the worker's end, [1]: its client's
static _Atomic uint64_t interrupted;

static NOINLINE void answer_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void after_work(uint64_t iterations) {
  for (uint64_t y = 0, step = 1; y < iterations; y++) SPIN(step);
}

static NOINLINE void client_work(uint64_t iterations) {
  for (uint64_t z = 0, step = 1; z < iterations; z++) SPIN(step);
}

static NOINLINE void request_done(void) { count_round(); }

// false: the other side has gone.
static bool receive(int end) {
  char byte;
  ssize_t got;
  while ((got = read(end, &byte, 1)) < 0 && errno == EINTR) atomic_fetch_add(&interrupted, 1);
  return got == 1;
}

static bool send_to(int end) { return send(end, "r", 1, MSG_NOSIGNAL) == 1; }

static void* serve(void* argument) {
  const int end = *(const int*)argument;
  while (receive(end)) {
    answer_work(answer_iterations);
    request_done();
    if (!send_to(end)) break;
    after_work(after_iterations);
  }
  return NULL;
}

static void* ask(void* argument) {
  const int end = *(const int*)argument;
  while (send_to(end) && receive(end)) client_work(client_iterations);
  return NULL;
}

static void start_all(void* (*run)(void*), int side, pthread_t* threads) {
  for (int i = 0; i < (int)workers; i++) {
    if (pthread_create(&threads[i], NULL, run, &lines[i][side]) != 0) die("pthread_create");
  }
}

// The other process; it ends with the connections, or with us.
static void be_clients(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pthread_t threads[kMostWorkers];
  for (int i = 0; i < (int)workers; i++) close(lines[i][0]);
  start_all(ask, 1, threads);
  for (int i = 0; i < (int)workers; i++) pthread_join(threads[i], NULL);
  _exit(0);
}

static uint64_t iterations_of(const char* name, void (*work)(uint64_t), double us) {
  return (uint64_t)(calibrate(name, work) * us / 1000);
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--workers", &workers, NULL, "threads of the server, and of its clients (4)"},
      {"--answer-us", &answer_us, NULL, "work for an answer (500)"},
      {"--after-us", &after_us, NULL, "work when it has been sent (250)"},
      {"--client-us", &client_us, NULL, "work of a client between two requests (250)"},
      {"--answer-factor", &answer_factor, NULL, "multiplies the work for an answer (twin)"},
      {"--after-factor", &after_factor, NULL, "multiplies the work after it (twin)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "a server with clients beside it; point: request_done", own);
  if (workers < 1 || workers > kMostWorkers) {
    fprintf(stderr, "--workers: 1 to %d\n", kMostWorkers);
    return 2;
  }
  answer_iterations = iterations_of("answer", answer_work, answer_us * answer_factor);
  after_iterations = iterations_of("after", after_work, after_us * after_factor);
  client_iterations = iterations_of("client", client_work, client_us);
  for (int i = 0; i < (int)workers; i++) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines[i]) != 0) die("socketpair");
  }
  const pid_t clients = fork();
  if (clients < 0) die("fork");
  if (clients == 0) be_clients();
  for (int i = 0; i < (int)workers; i++) close(lines[i][1]);
  ready();
  pthread_t threads[kMostWorkers];
  start_all(serve, 0, threads);
  wait_for_end();
  for (int i = 0; i < (int)workers; i++) shutdown(lines[i][0], SHUT_RDWR);
  for (int i = 0; i < (int)workers; i++) pthread_join(threads[i], NULL);
  waitpid(clients, NULL, 0);
  printf("interrupted %llu\n", (unsigned long long)interrupted);
  return finish();
}

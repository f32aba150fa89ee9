// A program that works, checks its work, and meanwhile is or does what a program may be or do while
// it is profiled: --state NAME, of state_table.c. What is done once is done at SIGUSR2. Two threads
// always work, `hot_work` in one and `other_work` in the other, so that a speedup of the one pauses
// the other. Where targets are more than cores, waiting for a core is all the pause that the other
// needs, for minutes on end; a third thread, which sleeps most of the time and hardly ever waits,
// needs its pauses there too.
//
// Every piece of work yields a power of 3 that is known from another way of computing it, so one
// register or one word of a stack that a pause does not restore shows as `wrong`. Output besides
// the harness's: `wrong N` (pieces of work with a wrong result), `done N` (what the state did, in
// its own unit) and `failed N` (… and how often that went wrong).
#include "states.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "work.h"

static const char* state_name = "plain";

_Atomic uint64_t state_done;
_Atomic uint64_t state_failed;
static _Atomic uint64_t wrong;

static uint64_t round_iterations;
static uint64_t round_result;
static uint64_t little_iterations;
static uint64_t little_result;

static NOINLINE void round_done(void) { count_round(); }

static void measured_work(uint64_t iterations) { (void)other_work(iterations); }

bool little_work(void) { return other_work(little_iterations) == little_result; }

static void* run_hot(void* state) {
  if (((const struct state*)state)->in_each_thread) ((const struct state*)state)->in_each_thread();
  while (!stopping()) {
    if (hot_work(round_iterations) != round_result) wrong++;
    round_done();
  }
  return NULL;
}

static void* run_other(void* state) {
  if (((const struct state*)state)->in_each_thread) ((const struct state*)state)->in_each_thread();
  while (!stopping()) {
    if (other_work(round_iterations) != round_result) wrong++;
  }
  return NULL;
}

static void* run_sleeper(void* state) {
  if (((const struct state*)state)->in_each_thread) ((const struct state*)state)->in_each_thread();
  while (!stopping()) {
    if (!little_work()) wrong++;
    poll(NULL, 0, 2);  // clock_nanosleep() ends the program in the states of seccomp
  }
  return NULL;
}

void sleep_ms(double ms) {
  const int64_t ns = (int64_t)(ms * 1e6);
  const struct timespec time = {ns / 1000000000, ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void wait_for_word(void) {
  sigset_t word;
  int number = 0;
  sigemptyset(&word);
  sigaddset(&word, SIGUSR2);
  while (!stopping() && sigwait(&word, &number) != 0) {
  }
}

static void* run_state(void* state) {
  if (((const struct state*)state)->begin) ((const struct state*)state)->begin();
  while (!stopping()) {
    ((const struct state*)state)->step();
    if (!little_work()) wrong++;
  }
  return NULL;
}

static const struct state* find_state(void) {
  for (const struct state* state = states; state->name; state++) {
    if (strcmp(state->name, state_name) == 0) return state;
  }
  fprintf(stderr, "unknown state: %s\n", state_name);
  exit(2);
}

char** arguments;

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--state", NULL, &state_name, "what it is or does besides (plain)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "works, and is in a state; point: round_done", own);
  arguments = argv;
  const struct state* state = find_state();
  const double per_ms = calibrate("other", measured_work);
  round_iterations = (uint64_t)(per_ms * 2);
  little_iterations = (uint64_t)(per_ms / 20);
  round_result = power_of_3(round_iterations);
  little_result = power_of_3(little_iterations);
  sigset_t word;
  sigemptyset(&word);
  sigaddset(&word, SIGUSR2);
  if (pthread_sigmask(SIG_BLOCK, &word, NULL) != 0) die("pthread_sigmask");
  if (state->before) state->before();
  pthread_t hot;
  pthread_t other;
  pthread_t sleeper;
  pthread_t own_thread_id;
  if (pthread_create(&hot, NULL, run_hot, (void*)state) != 0) die("pthread_create");
  if (pthread_create(&other, NULL, run_other, (void*)state) != 0) die("pthread_create");
  if (pthread_create(&sleeper, NULL, run_sleeper, (void*)state) != 0) die("pthread_create");
  if (state->step && pthread_create(&own_thread_id, NULL, run_state, (void*)state) != 0) {
    die("pthread_create");
  }
  if (!state->ready_by_itself) ready();
  if (state->main_does) state->main_does();
  wait_for_end();
  pthread_join(hot, NULL);
  pthread_join(other, NULL);
  pthread_join(sleeper, NULL);
  if (state->step) pthread_join(own_thread_id, NULL);
  printf("wrong %llu\ndone %llu\nfailed %llu\n", (unsigned long long)wrong,
         (unsigned long long)state_done, (unsigned long long)state_failed);
  return finish();
}

// Threads that stand in known places, one for each letter of the first argument:
//   b  busy in a function that is inlined          r  blocked in read() of a pipe
//   f  blocked in pause(), called by on_frame()    w  waits for a mutex
//   a  busy in a signal handler on an alternate stack, h  blocked in one
//   v  the parent of a vfork() whose child waits   d  deep in a recursion, blocked
//   p  polls for ten milliseconds and computes for ten, in turn
//   s  counts the real-time signals that it gets, and prints their number at SIGTERM
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static volatile unsigned long turns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int counted;
static pthread_barrier_t started;

static inline __attribute__((always_inline)) void inner_loop(void) {
  for (;;) turns++;
}
__attribute__((noinline)) void outer_loop(void) {
  inner_loop();
  __asm__ volatile("");
}
__attribute__((noinline)) void reads_pipe(void) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  __asm__ volatile("");
}
__attribute__((noinline)) void on_frame(int size) {
  volatile char room[size];  // of variable size, so that the frame needs a pointer
  room[0] = 0;
  pause();
  room[0] = 1;
}
__attribute__((noinline)) void polls(int size) {
  volatile char room[size];  // as above
  room[0] = 0;
  poll(NULL, 0, 10);
  room[0] = 1;
}
__attribute__((noinline)) void computes(void) {
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += 10000000;
  do {
    for (volatile int i = 0; i < 10000; i++) {
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec - end.tv_nsec < 0);
}
__attribute__((noinline)) void waits_for_mutex(void) {
  pthread_mutex_lock(&mutex);
  __asm__ volatile("");
}
__attribute__((noinline)) int recursion(int depth) {
  if (depth == 0) pause();
  const int below = depth > 0 ? recursion(depth - 1) : 0;
  __asm__ volatile("");
  return below + 1;
}

static void handler(int number) {
  if (number == SIGUSR1) outer_loop();
  pause();
  __asm__ volatile("");
}
__attribute__((noinline)) void interrupted(int number) {
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(number, &action, NULL);
  pthread_kill(pthread_self(), number);
  __asm__ volatile("");
}
__attribute__((noinline)) void forks(void) {
  if (vfork() == 0) {
    pause();
    _exit(0);
  }
  __asm__ volatile("");
}
static void count_signal(int number) {
  (void)number;
  counted++;
}

static void* run(void* letter) {
  pthread_barrier_wait(&started);
  switch (*(char*)letter) {
    case 'b':
      outer_loop();
      break;
    case 'r':
      reads_pipe();
      break;
    case 'f':
      on_frame(*(char*)letter);
      break;
    case 'w':
      waits_for_mutex();
      break;
    case 'a':
      interrupted(SIGUSR1);
      break;
    case 'h':
      interrupted(SIGUSR2);
      break;
    case 'v':
      forks();
      break;
    case 'd':
      recursion(900);
      break;
    case 'p':
      for (;;) {
        polls(*(char*)letter);
        computes();
      }
      break;
    case 's':
      outer_loop();
      break;
    default:
      abort();
  }
  return NULL;
}

int main(int count, char** words) {
  if (count != 2 || pipe(ends) != 0) return 2;
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, NULL);
  signal(SIGRTMIN, count_signal);
  pthread_mutex_lock(&mutex);
  const size_t threads = strlen(words[1]);
  pthread_barrier_init(&started, NULL, threads + 1);
  sigset_t counts = end;
  sigaddset(&counts, SIGRTMIN);
  for (size_t i = 0; i < threads; i++) {
    // Only 's' gets the signals, once it runs.
    pthread_sigmask(SIG_SETMASK, words[1][i] == 's' ? &end : &counts, NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &words[1][i]) != 0) abort();
  }
  pthread_sigmask(SIG_SETMASK, &counts, NULL);
  pthread_barrier_wait(&started);
  puts("ready");
  fflush(stdout);
  int number;
  sigwait(&end, &number);
  printf("counted %d turns %d\n", counted, turns > 0);
  fflush(stdout);
  _exit(0);
}

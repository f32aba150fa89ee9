// Calls whose returns are watched. `long`: of some 200 µs; `short`: of 2 µs; `threads`: like
// `long`, by one thread after another, of which each lives for three seconds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t state = 88172645463325252;

static uint64_t random_below(uint64_t bound) {  // xorshift64
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % bound;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline, noclone)) static void spin(uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; ++i) __asm__ volatile("");
}

__attribute__((noinline, noclone)) static void watched(uint64_t rounds) {
  spin(rounds);
  __asm__ volatile("");  // so that it is no tail call
}

__attribute__((noinline, noclone)) static void calls(uint64_t rounds, double seconds) {
  for (double end = now() + seconds; now() < end;) {
    for (int i = 0; i < 10; ++i) {
      watched(rounds / 2 + random_below(rounds));
      spin(random_below(2 * rounds));
    }
  }
}

static void* lives_for_three_seconds(void* rounds) {
  calls(*(uint64_t*)rounds, 3);
  return NULL;
}

int main(int count, char** words) {
  if (count != 2) return 2;
  uint64_t rounds = strcmp(words[1], "short") == 0 ? 4000 : 400000;
  puts("ready");
  fflush(stdout);
  while (strcmp(words[1], "threads") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, lives_for_three_seconds, &rounds);
    pthread_join(thread, NULL);
  }
  calls(rounds, 1000);
  return 0;
}

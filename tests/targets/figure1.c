// The Coz paper's Figure 1: two threads run a() and b(), which take 6.7 and 6.4 units of time; a
// round ends when both have. Speeding a() up by any amount gains at most 4.5 %; b() gains nothing.
// A round takes 90 ms, so that a profile of a minute sees hundreds.
#include <pthread.h>

#include "harness.h"

static double round_ms = 90;
static double a_factor = 1;
static double b_factor = 1;

static uint64_t a_iterations;
static uint64_t b_iterations;
static pthread_barrier_t barrier;
static atomic_bool
    last_round[2];  // by parity: a() writes one while b()'s thread may read the other

static NOINLINE void a(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void b(uint64_t iterations) {
  for (uint64_t y = 0, step = 1; y < iterations; y++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

// What turns the program into others of the truth suite (docs/truth.md).
static double wait_ms = 0;
static double spin = 0;
static double bound = 0;
static _Atomic uint64_t arrived;

// Both threads arrive once a round, so neither can arrive again before both have.
static NOINLINE void spin_until_met(void) {
  const uint64_t met = (atomic_fetch_add(&arrived, 1) / 2 + 1) * 2;
  while (atomic_load(&arrived) < met) __builtin_ia32_pause();
}

// Not inlined: the call that follows it is then one place, which a point by line can name.
static NOINLINE void meet(void) {
  if (spin != 0) {
    spin_until_met();
  } else {
    pthread_barrier_wait(&barrier);
  }
}

static void* run_a(void* unused) {
  if (bound != 0) bind_to_core(0);
  for (uint64_t round = 0;; round++) {
    a(a_iterations);
    wait_for_device(wait_ms);
    atomic_store(&last_round[round % 2], stopping());
    meet();
    round_done();
    if (atomic_load(&last_round[round % 2])) return unused;
  }
}

static void* run_b(void* unused) {
  if (bound != 0) bind_to_core(1);
  for (uint64_t round = 0;; round++) {
    b(b_iterations);
    meet();
    if (atomic_load(&last_round[round % 2])) return unused;
  }
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--round-ms", &round_ms, NULL, "length of a round: the time of a() (90)"},
      {"--a-factor", &a_factor, NULL, "multiplies the work of a(): 0.5 is its twin, twice as fast"},
      {"--b-factor", &b_factor, NULL, "the same for b()"},
      {"--wait-ms", &wait_ms, NULL, "after a(), its thread waits so long for a device (0)"},
      {"--spin", &spin, NULL, "1: they wait for each other by spinning (0)"},
      {"--bound", &bound, NULL, "1: each thread is bound to a core of its own (0)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "two threads, 6.7 to 6.4, a barrier a round; point: round_done", own);
  a_iterations = (uint64_t)(calibrate("a", a) * round_ms * a_factor);
  b_iterations = (uint64_t)(calibrate("b", b) * round_ms * 6.4 / 6.7 * b_factor);
  pthread_barrier_init(&barrier, NULL, 2);
  ready();
  pthread_t thread_a;
  pthread_t thread_b;
  if (pthread_create(&thread_a, NULL, run_a, NULL) != 0) die("pthread_create");
  if (pthread_create(&thread_b, NULL, run_b, NULL) != 0) die("pthread_create");
  wait_for_end();
  pthread_join(thread_a, NULL);
  pthread_join(thread_b, NULL);
  return finish();
}

// Does, three times a second, what a process may do to itself while it is profiled: fork and wait,
// fork and exec; besides, it works in a thread that blocks every signal (--blocked 0: none),
// installs a SIGTRAP handler (--sigtrap N) and execs itself (--exec N), then for one more second.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static double install_sigtrap = 0;
static double reset_sigtrap = 0;
static double do_exec = 0;
static double blocked = 1;

static uint64_t round_iterations;
static _Atomic uint64_t failed_children;
static _Atomic uint64_t foreign_traps;
static char** arguments;

static NOINLINE void busy_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void other_work(uint64_t iterations) {
  for (uint64_t y = 0, step = 1; y < iterations; y++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

static void* run_busy(void* unused) {
  sigset_t all;
  sigfillset(&all);
  if (blocked > 0) pthread_sigmask(SIG_SETMASK, &all, NULL);
  while (!stopping()) {
    busy_work(round_iterations);
    round_done();
  }
  return unused;
}

// The thread against which the speedup is measured: the thread that is sped up is never paused.
static void* run_other(void* unused) {
  while (!stopping()) other_work(round_iterations);
  return unused;
}

static void child(bool exec) {
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    if (exec) execl("/bin/true", "true", (char*)NULL);
    busy_work(round_iterations);
    _exit(exec ? 127 : 0);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  if (status != 0) failed_children++;
}

static void count_trap(int signal_number) {
  (void)signal_number;
  foreign_traps++;
}

// SIGTRAP to its default, to a handler, and so on, at moments that nobody can foresee.
static void change_sigtrap(int times) {
  unsigned seed = (unsigned)now_ns();
  for (int i = 0; i < times; i++) {
    signal(SIGTRAP, i % 2 == 0 ? SIG_DFL : count_trap);
    const struct timespec moment = {0, rand_r(&seed) % 5000000};
    nanosleep(&moment, NULL);
  }
}

static void say(const char* text) {
  printf("%s\n", text);
  fflush(stdout);
}

static void* run_changes(void* unused) {
  const struct timespec between = {0, 300000000};
  for (int round = 0; !stopping(); round++) {
    child(false);
    child(true);
    if (install_sigtrap > 0 && round == (int)install_sigtrap) {
      signal(SIGTRAP, count_trap);
      say("SIGTRAP changed");
    }
    if (reset_sigtrap > 0 && round >= (int)reset_sigtrap) {
      change_sigtrap(20);
      if (round == (int)reset_sigtrap) say("SIGTRAP changed");
    }
    if (do_exec > 0 && round == (int)do_exec) {
      say("executing itself");
      char* again[] = {arguments[0], "--seconds", "1", NULL};
      execv("/proc/self/exe", again);
      die("execv");
    }
    nanosleep(&between, NULL);
  }
  return unused;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--sigtrap", &install_sigtrap, NULL,
       "install a SIGTRAP handler at the Nth change (0: never)"},
      {"--reset-sigtrap", &reset_sigtrap, NULL,
       "from the Nth change on, keep changing what SIGTRAP does (0: never)"},
      {"--blocked", &blocked, NULL, "0: the busy thread blocks no signal (1)"},
      {"--exec", &do_exec, NULL, "exec itself at the Nth change, of three a second (0: never)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "forks, execs, blocks signals; point: round_done", own);
  arguments = argv;
  round_iterations = (uint64_t)(calibrate("busy", busy_work) * 10);
  ready();
  pthread_t busy;
  pthread_t other;
  pthread_t changes;
  if (pthread_create(&busy, NULL, run_busy, NULL) != 0) die("pthread_create");
  if (pthread_create(&other, NULL, run_other, NULL) != 0) die("pthread_create");
  if (pthread_create(&changes, NULL, run_changes, NULL) != 0) die("pthread_create");
  wait_for_end();
  pthread_join(busy, NULL);
  pthread_join(other, NULL);
  pthread_join(changes, NULL);
  printf("failed_children %llu\n", (unsigned long long)failed_children);
  printf("foreign_traps %llu\n", (unsigned long long)foreign_traps);
  return finish();
}

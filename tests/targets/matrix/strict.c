// Two threads that work in seccomp's strict mode, in which a thread may read, write, exit and
// return from a signal, and any other system call ends the program. Each piece of work is checked.
// Output and options are the harness's where these can be kept: --counter FILE comes first.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

enum { kIterations = 5000000 };  // some milliseconds

static _Atomic uint64_t* rounds;
static atomic_bool stop;
static atomic_bool wrong;

static NOINLINE void round_done(void) { atomic_fetch_add(rounds, 1); }

static uint64_t right_result;

static void end(int number) {
  (void)number;
  atomic_store(&stop, true);
}

static void enter_strict_mode(void) {
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(1);
}

static void leave(long status) {  // the thread, not the process: exit_group is forbidden
  syscall(SYS_exit, status);
  __builtin_unreachable();
}

static void* run_other(void* unused) {
  enter_strict_mode();
  while (!atomic_load(&stop)) {
    if (other_work(kIterations) != right_result) atomic_store(&wrong, true);
  }
  leave(0);
  return unused;
}

static void say(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) leave(1);
}

int main(int argc, char** argv) {
  const int fd = argc == 3 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  if (fd < 0 || ftruncate(fd, sizeof(uint64_t)) != 0) die("usage: strict --counter FILE");
  rounds = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (rounds == MAP_FAILED) die("mmap");
  right_result = power_of_3(kIterations);
  // The flag, not the signal's default action: the program is to end by its own will.
  signal(SIGTERM, end);
  pthread_t other;
  if (pthread_create(&other, NULL, run_other, NULL) != 0) die("pthread_create");
  printf("ready %d\n", (int)getpid());
  fflush(stdout);
  enter_strict_mode();
  while (!atomic_load(&stop)) {
    if (hot_work(kIterations) != right_result) atomic_store(&wrong, true);
    round_done();
  }
  say(atomic_load(&wrong) ? "wrong 1\n" : "wrong 0\n");
  leave(atomic_load(&wrong) ? 1 : 0);
}

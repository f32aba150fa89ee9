// What a library's constructor may do before its program is at its entry point, by the program's
// first argument: nothing; signals: count those that come, and wait for some; exec: execute the
// program again, with "nothing"; block: block SIGTRAP; wait: 1.5 s; fork: let a child go on with
// the program, and end with status 3 unless that one ends with 0.
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kAwaited = 3 };

static atomic_int signals;

int signals_counted(void) { return atomic_load(&signals); }

static void count(int signal_number) {
  (void)signal_number;
  atomic_fetch_add(&signals, 1);
}

static void await_signals(void) {
  struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
  sigaction(SIGRTMIN, &action, NULL);
  while (atomic_load(&signals) < kAwaited) {
    const struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
  }
}

// glibc gives them to constructors of libraries, too.
__attribute__((constructor)) static void load(int argc, char** argv) {
  if (argc < 2) return;
  if (strcmp(argv[1], "signals") == 0) await_signals();
  if (strcmp(argv[1], "exec") == 0) {
    argv[1] = "nothing";
    execv("/proc/self/exe", argv);
    _exit(127);
  }
  if (strcmp(argv[1], "fork") == 0) {
    const pid_t child = fork();
    int status = 1;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) _exit(3);
  }
  if (strcmp(argv[1], "wait") == 0) {
    const struct timespec time = {1, 500000000};
    nanosleep(&time, NULL);
  }
  if (strcmp(argv[1], "block") == 0) {
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, NULL);
  }
}

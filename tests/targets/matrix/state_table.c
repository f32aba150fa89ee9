// The states that states.c can be in: the list is at the end.
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "states.h"

enum { kChildStatus = 7, kSmallStack = 16 * 1024, kStormBatch = 10 };

// --- exit, exec ---

static void exit_now(void) { exit(kChildStatus); }

static char* next_state = "plain";

static void exec_now(void) {
  printf("executing itself\n");
  fflush(stdout);
  char* again[16] = {arguments[0], "--state", next_state};
  // Keeps the counter, so that the rate of the new program can be read as that of the old one.
  for (int i = 1, to = 3; arguments[i] && arguments[i + 1] && to < 14; i += 2) {
    if (strcmp(arguments[i], "--counter") != 0) continue;
    again[to++] = arguments[i];
    again[to++] = arguments[i + 1];
  }
  execv("/proc/self/exe", again);
  die("execv");
}

static void exec_from_main(void) {
  wait_for_word();
  exec_now();
}

// It works, blocking all signals, until the word comes, which it must look for.
static void exec_when_told(void) {
  sigset_t pending;
  sigpending(&pending);
  next_state = "unblocked";
  if (sigismember(&pending, SIGUSR2)) exec_now();
}

// --- children ---

static void count_child(pid_t pid, int wanted) {
  int status = 0;
  pid_t ended = -1;
  do {
    ended = waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status) != wanted) state_failed++;
  state_done++;
}

static void fork_one(void) {
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) _exit(little_work() ? kChildStatus : 1);
  count_child(pid, kChildStatus);
  sleep_ms(10);
}

static void vfork_one(void) {
  static unsigned number;
  const bool exec = ++number % 2 == 0;
  const pid_t pid = vfork();
  if (pid < 0) die("vfork");
  if (pid == 0) {
    if (exec) execl("/bin/true", "true", (char*)NULL);
    _exit(exec ? 1 : kChildStatus);
  }
  count_child(pid, exec ? 0 : kChildStatus);
  sleep_ms(10);
}

// --- threads ---

static void* live_and_die(void* unused) {
  if (!little_work()) state_failed++;
  return unused;
}

static void storm(void) {
  static int64_t next_ns;
  if (next_ns == 0) next_ns = now_ns();
  pthread_t threads[kStormBatch];
  for (int i = 0; i < kStormBatch; i++) {
    if (pthread_create(&threads[i], NULL, live_and_die, NULL) != 0) die("pthread_create");
  }
  for (int i = 0; i < kStormBatch; i++) pthread_join(threads[i], NULL);
  state_done += kStormBatch;
  next_ns += kStormBatch * 1000000;  // a thousand a second
  const int64_t left_ns = next_ns - now_ns();
  if (left_ns > 0) sleep_ms((double)left_ns / 1e6);
}

// 16 KiB of stack, of which a frame of signals may take its part; half have another for signals.
static _Thread_local char other_stack[kSmallStack / 2];
static pthread_t small[4];

static void on_user_signal(int number) {
  (void)number;
  if (!little_work()) state_failed++;
  state_done++;
}

static void* run_small(void* with_other_stack) {
  if (with_other_stack) {
    const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
    if (sigaltstack(&stack, NULL) != 0) die("sigaltstack");
  }
  while (!stopping()) {
    if (!little_work()) state_failed++;
  }
  return NULL;
}

static void make_small_threads(void) {
  const struct sigaction action = {.sa_handler = on_user_signal,
                                   .sa_flags = SA_ONSTACK | SA_RESTART};
  if (sigaction(SIGUSR1, &action, NULL) != 0) die("sigaction");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // Thread-local memory lies on the stack too; glibc's least size takes no account of it.
  if (pthread_attr_setstacksize(&attributes, kSmallStack + sizeof(other_stack)) != 0) {
    die("pthread_attr_setstacksize");
  }
  for (size_t i = 0; i < 4; i++) {
    if (pthread_create(&small[i], &attributes, run_small, i % 2 ? small : NULL) != 0) {
      die("pthread_create");
    }
  }
}

static void signal_small_threads(void) {
  for (size_t i = 0; i < 4; i++) pthread_kill(small[i], SIGUSR1);
  sleep_ms(5);
}

// --- signals ---

static void block_all(void) {
  sigset_t all;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, NULL) != 0) die("pthread_sigmask");
}

static _Atomic uint64_t traps_seen;

static void count_trap(int number) {
  (void)number;
  traps_seen++;
}

static void handle_traps(void) {
  const struct sigaction action = {.sa_handler = count_trap, .sa_flags = SA_RESTART};
  if (sigaction(SIGTRAP, &action, NULL) != 0) die("sigaction");
}

// Its own ones must come, and no others.
static void raise_trap(void) {
  const uint64_t before = traps_seen;
  if (raise(SIGTRAP) != 0) die("raise");
  if (traps_seen != before + 1) state_failed++;
  state_done++;
  sleep_ms(2);
}

// --- libraries ---

#ifndef STATIC_PROGRAM
static void open_library(void) {
  void* library = dlopen(PLUGIN, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  int (*work)(int) = NULL;
  *(void**)&work = dlsym(library, "plugin_work");
  if (!work || work(5) != 16 || dlclose(library) != 0) state_failed++;
  state_done++;
}
#endif

// --- seccomp: ends the program at the system calls of the stub, or of its installation ---

static void forbid(bool also_sleep, unsigned flags) {
  const uint32_t sleep = also_sleep ? SYS_clock_nanosleep : SYS_restart_syscall;
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sleep, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("PR_SET_NO_NEW_PRIVS");
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) != 0) die("seccomp");
}

static void forbid_from_the_start(void) {
  forbid(true, SECCOMP_FILTER_FLAG_TSYNC);
  ready();
}

static void forbid_here(void) {
  forbid(true, 0);
  ready();
}

// A thread that stands in the stub just then must still sleep: sleeping is forbidden to this thread
// alone, which does not.
static void forbid_later(void) {
  wait_for_word();
  forbid(false, SECCOMP_FILTER_FLAG_TSYNC);
  forbid(true, 0);
}

static void sleep_by_poll(void) {
  poll(NULL, 0, 5);
  state_done++;
}

const struct state states[] = {
    {.name = "plain"},
    {.name = "exit", .begin = wait_for_word, .step = exit_now},
    {.name = "exec", .main_does = exec_from_main},
    {.name = "exec_from_thread", .begin = wait_for_word, .step = exec_now},
    {.name = "fork", .step = fork_one},
    {.name = "vfork", .step = vfork_one},
    {.name = "storm", .step = storm},
    {.name = "stacks", .before = make_small_threads, .step = signal_small_threads},
    {.name = "blocked", .before = block_all},
    {.name = "waits_for_signals", .begin = wait_for_signals_begin, .step = wait_for_signals},
    {.name = "blocked_exec", .begin = blocked_until_exec, .step = exec_when_told},
    {.name = "unblocked", .before = unblock_trap},
    {.name = "ring", .before = make_ring, .step = wait_by_epoll},
    {.name = "dispatch", .begin = dispatch_calls, .step = work_without_calls},
    {.name = "dispatch_all", .before = dispatch_calls, .in_each_thread = dispatch_calls},
    {.name = "no_new_code", .before = forbid_executable_memory, .step = sleep_by_poll},
    {.name = "trap_handler", .before = handle_traps, .step = raise_trap},
#ifndef STATIC_PROGRAM
    {.name = "dlopen", .step = open_library},
#endif
    {.name = "seccomp",
     .main_does = forbid_from_the_start,
     .step = sleep_by_poll,
     .ready_by_itself = true},
    {.name = "seccomp_thread",
     .begin = forbid_here,
     .step = sleep_by_poll,
     .ready_by_itself = true},
    {.name = "seccomp_later", .begin = forbid_later, .step = sleep_by_poll},
    {.name = NULL}};

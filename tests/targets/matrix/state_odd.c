// States of state_table.c that are about how system calls are made.
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "states.h"

static void block_in_this_thread(void) {
  sigset_t all;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, NULL) != 0) die("pthread_sigmask");
}

// SIGTRAP reaches it in ppoll() and sigtimedwait() only, as signals do in an event loop: nobody
// sends one.
void wait_for_signals_begin(void) { block_in_this_thread(); }

void wait_for_signals(void) {
  const struct timespec little = {0, 1000000};
  sigset_t all_but_trap;
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  sigfillset(&all_but_trap);
  sigdelset(&all_but_trap, SIGTRAP);
  for (int i = 0; i < 20; i++) {
    if (!little_work()) state_failed++;
  }
  if (ppoll(NULL, 0, &little, &all_but_trap) != 0) state_failed++;
  if (sigtimedwait(&trap, NULL, &little) != -1 || errno != EAGAIN) state_failed++;
  state_done++;
}

// It works for a while with all signals blocked; then it is another program, which does
// not block SIGTRAP.
void blocked_until_exec(void) { block_in_this_thread(); }

void unblock_trap(void) {
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  if (pthread_sigmask(SIG_UNBLOCK, &trap, NULL) != 0) die("pthread_sigmask");
}

// A thread of the kernel's looks for work in a ring for as long as this program runs.
void make_ring(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof(parameters));
  parameters.flags = IORING_SETUP_SQPOLL;
  parameters.sq_thread_idle = 600000;
  if (syscall(SYS_io_uring_setup, 8, &parameters) < 0) die("io_uring_setup");
}

void wait_by_epoll(void) {
  const int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) die("epoll_create1");
  struct epoll_event event;
  if (epoll_wait(set, &event, 1, 20) != 0) state_failed++;
  close(set);
  state_done++;
}

// As Wine does: calls raise SIGSYS but from where they are let through. (Linux 5.11,
// <linux/prctl.h>, which not every libc lets be included.)
enum { kSetDispatch = 59, kDispatchOn = 1, kAllow = 0, kBlock = 1 };
static volatile char selector = kAllow;

void dispatch_calls(void) {
  if (prctl(kSetDispatch, kDispatchOn, 0, 0, &selector) != 0) die("PR_SET_SYSCALL_USER_DISPATCH");
}

void work_without_calls(void) {
  selector = kBlock;
  for (int i = 0; i < 100; i++) {
    if (!little_work()) state_failed++;
  }
  selector = kAllow;
  state_done++;
}

void forbid_executable_memory(void) {
  enum { kSetMdwe = 65, kRefuseGain = 1 };  // PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN: Linux 6.3
  if (prctl(kSetMdwe, kRefuseGain, 0, 0, 0) != 0) die("PR_SET_MDWE");
}

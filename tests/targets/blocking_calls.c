// One thread per blocking system call: each loops over a short wait and a little work, and counts
// what only an unseen signal or a broken restart could cause.
//
// Output at the end, a line per call: `call NAME calls N eintr N short N wrong N`, and the totals
// `eintr_total N`, `short_total N`, `wrong_total N`.
//   eintr  the call returned EINTR
//   short  it returned before its timeout
//   wrong  it returned anything else than a timeout, or came back seconds late
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

enum { kTimeoutMs = 20, kLateMs = 3000 };
static const struct timespec kTimeout = {0, kTimeoutMs * 1000000L};

static uint64_t work_iterations;
static int epoll_fd;
static int socket_fds[2];
static int semaphore_set;
static int message_queue;
static sem_t semaphore;
static uint32_t futex_word;

static NOINLINE void little_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

// Each makes its call once: 0 is a timeout as expected, else the errno; -1: something else.
static int error_if(bool failed, int expected) {
  if (!failed) return -1;
  return errno == expected ? 0 : errno;
}

static int call_epoll_wait(void) {
  struct epoll_event event;
  const int result = epoll_wait(epoll_fd, &event, 1, kTimeoutMs);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_nanosleep(void) {
  struct timespec left;
  return nanosleep(&kTimeout, &left) == 0 ? 0 : errno;
}

static int call_clock_nanosleep(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += kTimeout.tv_nsec;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int call_poll(void) {
  struct pollfd fd = {socket_fds[0], POLLIN, 0};
  const int result = poll(&fd, 1, kTimeoutMs);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_select(void) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(socket_fds[0], &set);
  struct timeval timeout = {0, kTimeoutMs * 1000L};
  const int result = select(socket_fds[0] + 1, &set, NULL, NULL, &timeout);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_sem_timedwait(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += kTimeout.tv_nsec;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  return error_if(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) < 0, ETIMEDOUT);
}

static int call_sigtimedwait(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return error_if(sigtimedwait(&set, NULL, &kTimeout) < 0, EAGAIN);
}

static int call_semtimedop(void) {
  struct sembuf take = {0, -1, 0};
  return error_if(semtimedop(semaphore_set, &take, 1, &kTimeout) < 0, EAGAIN);
}

static int call_recv(void) {
  char byte = 0;
  return error_if(recv(socket_fds[0], &byte, 1, 0) < 0, EAGAIN);
}

static int call_futex(void) {
  const long result = syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &kTimeout, NULL, 0);
  return error_if(result < 0, ETIMEDOUT);
}

struct message {
  long type;
  int64_t sent_ns;
};

// msgrcv has no timeout: send_messages() ends the wait.
static int call_msgrcv(void) {
  struct message message;
  return msgrcv(message_queue, &message, sizeof(message.sent_ns), 0, 0) > 0 ? 0 : errno;
}

struct call {
  const char* name;
  int (*make)(void);
  bool has_timeout;
  uint64_t calls, interrupted, too_short, wrong;
  pthread_t thread;
};

static struct call calls[] = {
    {.name = "epoll_wait", .make = call_epoll_wait, .has_timeout = true},
    {.name = "nanosleep", .make = call_nanosleep, .has_timeout = true},
    {.name = "clock_nanosleep", .make = call_clock_nanosleep, .has_timeout = true},
    {.name = "poll", .make = call_poll, .has_timeout = true},
    {.name = "select", .make = call_select, .has_timeout = true},
    {.name = "sem_timedwait", .make = call_sem_timedwait, .has_timeout = true},
    {.name = "sigtimedwait", .make = call_sigtimedwait, .has_timeout = true},
    {.name = "semtimedop", .make = call_semtimedop, .has_timeout = true},
    {.name = "recv", .make = call_recv, .has_timeout = true},
    {.name = "futex", .make = call_futex, .has_timeout = true},
    {.name = "msgrcv", .make = call_msgrcv, .has_timeout = false},
};
enum { kCalls = sizeof(calls) / sizeof(calls[0]) };

static void* run_call(void* argument) {
  struct call* call = argument;
  while (!stopping()) {
    const int64_t start_ns = now_ns();
    const int error = call->make();
    const int64_t elapsed_ns = now_ns() - start_ns;
    call->calls++;
    if (error == EINTR) {
      call->interrupted++;
    } else if (error != 0) {
      call->wrong++;
    } else if (call->has_timeout && elapsed_ns < kTimeout.tv_nsec - 1000) {
      call->too_short++;
    } else if (elapsed_ns > kLateMs * 1000000LL) {
      call->wrong++;
    }
    little_work(work_iterations);
    round_done();
  }
  return NULL;
}

static void* send_messages(void* unused) {
  while (!stopping()) {
    call_clock_nanosleep();
    const struct message message = {1, now_ns()};
    if (msgsnd(message_queue, &message, sizeof(message.sent_ns), IPC_NOWAIT) != 0 &&
        errno != EAGAIN) {
      die("msgsnd");
    }
  }
  const struct message last = {1, 0};
  msgsnd(message_queue, &last, sizeof(last.sent_ns), IPC_NOWAIT);
  return unused;
}

static void set_up(void) {
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) die("epoll_create1");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_fds) != 0) die("socketpair");
  const struct timeval timeout = {0, kTimeoutMs * 1000L};
  if (setsockopt(socket_fds[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0) {
    die("SO_RCVTIMEO");
  }
  if (sem_init(&semaphore, 0, 0) != 0) die("sem_init");
  semaphore_set = semget(IPC_PRIVATE, 1, 0600);
  if (semaphore_set < 0) die("semget");
  message_queue = msgget(IPC_PRIVATE, 0600);
  if (message_queue < 0) die("msgget");
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) die("sigprocmask");
}

int main(int argc, char** argv) {
  double work_us = 2000;
  const struct own_option own[] = {
      {"--work-us", &work_us, NULL, "work of each thread between two calls (2000)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "threads in every kind of blocking call; point: round_done", own);
  set_up();
  work_iterations = (uint64_t)(calibrate("little", little_work) * work_us / 1000);
  pthread_t sender;
  if (pthread_create(&sender, NULL, send_messages, NULL) != 0) die("pthread_create");
  for (int i = 0; i < kCalls; i++) {
    if (pthread_create(&calls[i].thread, NULL, run_call, &calls[i]) != 0) die("pthread_create");
  }
  ready();
  wait_for_end();
  pthread_join(sender, NULL);
  uint64_t interrupted = 0;
  uint64_t too_short = 0;
  uint64_t wrong = 0;
  for (int i = 0; i < kCalls; i++) {
    const struct call* call = &calls[i];
    pthread_join(call->thread, NULL);
    printf("call %s calls %llu eintr %llu short %llu wrong %llu\n", call->name,
           (unsigned long long)call->calls, (unsigned long long)call->interrupted,
           (unsigned long long)call->too_short, (unsigned long long)call->wrong);
    interrupted += call->interrupted;
    too_short += call->too_short;
    wrong += call->wrong;
  }
  semctl(semaphore_set, 0, IPC_RMID);
  msgctl(message_queue, IPC_RMID, NULL);
  printf("eintr_total %llu\nshort_total %llu\nwrong_total %llu\n", (unsigned long long)interrupted,
         (unsigned long long)too_short, (unsigned long long)wrong);
  return finish();
}

// Calls that a timeout or a timer ends. Set up once, each made by one thread.
#include <errno.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocking_calls.h"
#include "harness.h"

static int epoll_fd;
static int socket_fds[2];
static int full_socket_fds[2];
static int semaphore_set;
static sem_t semaphore;
static uint32_t futex_word;
static uint32_t owned_word;  // a futex that the main thread holds for ever
static int listening_fd;
static struct sockaddr_un full_name;
static socklen_t full_name_size;
static int connecting_fd;
static mqd_t empty_queue, full_queue;
static unsigned long aio_context;
static int timer_fd;

static int call_epoll_wait(void) {
  struct epoll_event event;
  const int result = epoll_wait(epoll_fd, &event, 1, kTimeoutMs);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_epoll_pwait(void) {
  struct epoll_event event;
  sigset_t none;
  sigfillset(&none);
  sigdelset(&none, SIGTRAP);
  const int result = epoll_pwait(epoll_fd, &event, 1, kTimeoutMs, &none);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_nanosleep(void) {
  struct timespec left;
  return nanosleep(&kTimeout, &left) == 0 ? 0 : errno;
}

static int call_clock_nanosleep(void) {
  const struct timespec until = timeout_on(CLOCK_MONOTONIC);
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int call_poll(void) {
  struct pollfd fd = {socket_fds[0], POLLIN, 0};
  const int result = poll(&fd, 1, kTimeoutMs);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_ppoll(void) {
  struct pollfd fd = {socket_fds[0], POLLIN, 0};
  const int result = ppoll(&fd, 1, &kTimeout, NULL);
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

static int call_pselect(void) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(socket_fds[0], &set);
  const int result = pselect(socket_fds[0] + 1, &set, NULL, NULL, &kTimeout, NULL);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_sem_timedwait(void) {
  const struct timespec until = timeout_on(CLOCK_MONOTONIC);
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

// Socket calls with a timeout of their own are those that no SA_RESTART restarts.
static int call_recv(void) {
  char byte = 0;
  return error_if(recv(socket_fds[0], &byte, 1, 0) < 0, EAGAIN);
}

static int call_send(void) { return error_if(send(full_socket_fds[0], "", 1, 0) < 0, EAGAIN); }

static int call_accept(void) { return error_if(accept(listening_fd, NULL, NULL) < 0, EAGAIN); }

static int call_connect(void) {
  return error_if(connect(connecting_fd, (struct sockaddr*)&full_name, full_name_size) < 0, EAGAIN);
}

static int call_futex(void) {
  const long result = syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &kTimeout, NULL, 0);
  return error_if(result < 0, ETIMEDOUT);
}

// The timeouts of these are of the real-time clock, which may jump.
static int call_futex_lock_pi(void) {
  const struct timespec until = timeout_on(CLOCK_REALTIME);
  const long result = syscall(SYS_futex, &owned_word, FUTEX_LOCK_PI_PRIVATE, 0, &until, NULL, 0);
  return error_if(result < 0, ETIMEDOUT);
}

static int call_mq_timedreceive(void) {
  const struct timespec until = timeout_on(CLOCK_REALTIME);
  char text[8];
  return error_if(mq_timedreceive(empty_queue, text, sizeof(text), NULL, &until) < 0, ETIMEDOUT);
}

static int call_mq_timedsend(void) {
  const struct timespec until = timeout_on(CLOCK_REALTIME);
  return error_if(mq_timedsend(full_queue, "", 1, 0, &until) < 0, ETIMEDOUT);
}

static int call_io_getevents(void) {
  char event[32];  // struct io_event
  struct timespec timeout = kTimeout;
  const long result = syscall(SYS_io_getevents, aio_context, 1, 1, event, &timeout);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_timerfd_read(void) {
  const struct itimerspec once = {{0, 0}, kTimeout};
  timerfd_settime(timer_fd, 0, &once, NULL);
  uint64_t expirations = 0;
  const ssize_t size = read(timer_fd, &expirations, sizeof(expirations));
  return size == sizeof(expirations) && expirations == 1 ? 0 : error_if(size < 0, 0);
}

// Those that a signal ends: it is that of a timer, whose handler must have run.
static _Thread_local volatile sig_atomic_t alarms;

static void count_alarm(int signal_number) {
  (void)signal_number;
  alarms++;
}

static void set_timer(struct itimerspec when) {
  static _Thread_local timer_t timer;
  static _Thread_local bool made;
  if (!made) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) die("timer_create");
    made = true;
  }
  timer_settime(timer, 0, &when, NULL);
}

static int call_sigsuspend(void) {
  const sig_atomic_t before = alarms;
  set_timer((struct itimerspec){{0, 0}, kTimeout});
  sigset_t all_but_alarm;
  sigfillset(&all_but_alarm);
  sigdelset(&all_but_alarm, SIGUSR1);
  // What may interrupt it may do so here, too.
  sigdelset(&all_but_alarm, SIGTRAP);
  (void)sigsuspend(&all_but_alarm);
  return alarms == before + 1 ? 0 : EINTR;
}

// The timer goes on: pause() may miss the signal of a slow start, and is ended by the next.
static int call_pause(void) {
  set_timer((struct itimerspec){kTimeout, kTimeout});
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);  // one that is pending still comes here
  const sig_atomic_t before = alarms;
  (void)pause();
  pthread_sigmask(SIG_BLOCK, &alarm, NULL);
  set_timer((struct itimerspec){{0, 0}, {0, 0}});
  return alarms > before ? 0 : EINTR;
}

static pid_t sleeping_child(void) {
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    nanosleep(&kTimeout, NULL);
    _exit(0);
  }
  return pid;
}

static int call_waitpid(void) {
  const pid_t pid = sleeping_child();
  int status = 0;
  const int result = waitpid(pid, &status, 0) == pid ? status : errno;
  while (result == EINTR && waitpid(pid, NULL, 0) < 0) {
  }
  return result;
}

static int call_waitid(void) {
  const pid_t pid = sleeping_child();
  siginfo_t info;
  const int result = waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 ? info.si_status : errno;
  while (result == EINTR && waitpid(pid, NULL, 0) < 0) {
  }
  return result;
}

const struct blocking_call calls_timed[] = {
    {.name = "epoll_wait", .make = call_epoll_wait, .has_timeout = true},
    {.name = "epoll_pwait", .make = call_epoll_pwait, .has_timeout = true},
    {.name = "nanosleep", .make = call_nanosleep, .has_timeout = true},
    {.name = "clock_nanosleep", .make = call_clock_nanosleep, .has_timeout = true},
    {.name = "poll", .make = call_poll, .has_timeout = true},
    {.name = "ppoll", .make = call_ppoll, .has_timeout = true},
    {.name = "select", .make = call_select, .has_timeout = true},
    {.name = "pselect", .make = call_pselect, .has_timeout = true},
    {.name = "sem_timedwait", .make = call_sem_timedwait, .has_timeout = true},
    {.name = "sigtimedwait", .make = call_sigtimedwait, .has_timeout = true},
    {.name = "semtimedop", .make = call_semtimedop, .has_timeout = true},
    {.name = "recv", .make = call_recv, .has_timeout = true, .in_jiffies = true},
    {.name = "send", .make = call_send, .has_timeout = true, .in_jiffies = true},
    {.name = "accept", .make = call_accept, .has_timeout = true, .in_jiffies = true},
    {.name = "connect", .make = call_connect, .has_timeout = true, .in_jiffies = true},
    {.name = "futex", .make = call_futex, .has_timeout = true},
    {.name = "futex_lock_pi", .make = call_futex_lock_pi},
    {.name = "mq_timedreceive", .make = call_mq_timedreceive},
    {.name = "mq_timedsend", .make = call_mq_timedsend},
    {.name = "io_getevents", .make = call_io_getevents, .has_timeout = true},
    {.name = "timerfd_read", .make = call_timerfd_read, .has_timeout = true},
    {.name = "sigsuspend", .make = call_sigsuspend, .has_timeout = true},
    {.name = "pause", .make = call_pause},
    {.name = "waitpid", .make = call_waitpid, .has_timeout = true, .forks = true},
    {.name = "waitid", .make = call_waitid, .has_timeout = true, .forks = true},
};
const size_t calls_timed_count = sizeof(calls_timed) / sizeof(calls_timed[0]);

static void set_timeout(int socket, int option) {
  const struct timeval timeout = {0, kTimeoutMs * 1000L};
  if (setsockopt(socket, SOL_SOCKET, option, &timeout, sizeof(timeout)) != 0) die("setsockopt");
}

// A socket that listens at a name of the kernel's choice.
static int listener(int backlog) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_un name = {.sun_family = AF_UNIX};
  if (bind(fd, (const struct sockaddr*)&name, sizeof(name.sun_family)) != 0 ||
      listen(fd, backlog) != 0) {
    die("listen");
  }
  return fd;
}

static void set_up_sockets(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_fds) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, full_socket_fds) != 0) {
    die("socketpair");
  }
  set_timeout(socket_fds[0], SO_RCVTIMEO);
  while (send(full_socket_fds[0], "", 1, MSG_DONTWAIT) == 1) {
  }
  set_timeout(full_socket_fds[0], SO_SNDTIMEO);
  listening_fd = listener(1);
  set_timeout(listening_fd, SO_RCVTIMEO);

  const int full = listener(0);
  full_name_size = sizeof(full_name);
  if (getsockname(full, (struct sockaddr*)&full_name, &full_name_size) != 0) die("getsockname");
  do {  // until there is no more room
    connecting_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connecting_fd < 0) die("socket");
  } while (connect(connecting_fd, (struct sockaddr*)&full_name, full_name_size) == 0);
  if (errno != EAGAIN) die("connect");
  connecting_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_timeout(connecting_fd, SO_SNDTIMEO);
}

static mqd_t make_queue(const char* suffix, int flags) {
  char name[64];
  snprintf(name, sizeof(name), "/blocking_calls.%d.%s", (int)getpid(), suffix);
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
  const mqd_t queue = mq_open(name, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
  if (queue == (mqd_t)-1 || mq_unlink(name) != 0) die("mq_open");
  return queue;
}

// REQUIRES that it is called by the main thread.
void set_up_timed(void) {
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) die("epoll_create1");
  set_up_sockets();
  if (sem_init(&semaphore, 0, 0) != 0) die("sem_init");
  semaphore_set = semget(IPC_PRIVATE, 1, 0600);
  if (semaphore_set < 0) die("semget");
  owned_word = (uint32_t)gettid();
  empty_queue = make_queue("empty", O_RDONLY);
  full_queue = make_queue("full", O_WRONLY);
  if (mq_send(full_queue, "", 1, 0) != 0) die("mq_send");
  if (syscall(SYS_io_setup, 1, &aio_context) != 0) die("io_setup");
  timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (timer_fd < 0) die("timerfd_create");
  struct sigaction action = {.sa_handler = count_alarm};
  if (sigaction(SIGUSR1, &action, NULL) != 0) die("sigaction");
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGUSR1);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) die("sigprocmask");
}

void tear_down_timed(void) { semctl(semaphore_set, 0, IPC_RMID); }

// One thread per blocking system call: each loops over a short wait and a little work, and counts
// what only an unseen signal or a broken restart could cause.
//
// Output at the end, a line per call: `call NAME calls N eintr N short N wrong N`, and the totals
// `eintr_total N`, `short_total N`, `wrong_total N`.
//   eintr  the call returned EINTR
//   short  it returned before its timeout, as far as the kernel can tell the time
//   wrong  it returned anything else than a timeout, or came back seconds late
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
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
static double children = 0;
static int listening_fd;
static mqd_t posix_queue;
static unsigned long aio_context;
static int pipe_fds[2];
static int lock_fds[2];  // the same file, opened twice

static NOINLINE void little_work(uint64_t iterations) {
  for (uint64_t x = 0, step = 1; x < iterations; x++) SPIN(step);
}

static NOINLINE void round_done(void) { count_round(); }

// Each makes its call once: 0 is a timeout as expected, else the errno; -1: something else.
static int error_if(bool failed, int expected) {
  if (!failed) return -1;
  return errno == expected ? 0 : errno;
}

// kTimeout from now.
static struct timespec timeout_on(clockid_t clock) {
  struct timespec until;
  clock_gettime(clock, &until);
  until.tv_nsec += kTimeout.tv_nsec;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  return until;
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
  const struct timespec until = timeout_on(CLOCK_MONOTONIC);
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

static int call_ppoll(void) {
  struct pollfd fd = {socket_fds[0], POLLIN, 0};
  const int result = ppoll(&fd, 1, &kTimeout, NULL);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_pselect(void) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(socket_fds[0], &set);
  const int result = pselect(socket_fds[0] + 1, &set, NULL, NULL, &kTimeout, NULL);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

static int call_accept(void) { return error_if(accept(listening_fd, NULL, NULL) < 0, EAGAIN); }

static int call_mq_timedreceive(void) {  // its timeout is of the real-time clock, which may jump
  const struct timespec until = timeout_on(CLOCK_REALTIME);
  char text[8];
  return error_if(mq_timedreceive(posix_queue, text, sizeof(text), NULL, &until) < 0, ETIMEDOUT);
}

static int call_io_getevents(void) {
  char event[32];  // struct io_event
  struct timespec timeout = kTimeout;
  const long result = syscall(SYS_io_getevents, aio_context, 1, 1, event, &timeout);
  return result == 0 ? 0 : error_if(result < 0, 0);
}

// Ended by the signal of a timer, whose handler must have run.
static _Thread_local volatile sig_atomic_t alarms;

static void count_alarm(int signal_number) {
  (void)signal_number;
  alarms++;
}

static int call_sigsuspend(void) {
  static _Thread_local timer_t timer;
  static _Thread_local bool made;
  if (!made) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) die("timer_create");
    made = true;
  }
  const struct itimerspec once = {{0, 0}, kTimeout};
  const sig_atomic_t before = alarms;
  timer_settime(timer, 0, &once, NULL);
  sigset_t all_but_alarm;
  sigfillset(&all_but_alarm);
  sigdelset(&all_but_alarm, SIGUSR1);
  // What may interrupt it may do so here, too.
  sigdelset(&all_but_alarm, SIGTRAP);
  (void)sigsuspend(&all_but_alarm);
  return alarms == before + 1 ? 0 : EINTR;
}

// Those without a timeout are ended by another thread or process.
static int call_read(void) {
  char byte = 0;
  const ssize_t size = read(pipe_fds[0], &byte, 1);
  return size == 1 ? 0 : error_if(size < 0, 0);
}

static int call_waitpid(void) {
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    nanosleep(&kTimeout, NULL);
    _exit(0);
  }
  int status = 0;
  const int result = waitpid(pid, &status, 0) == pid ? status : errno;
  while (result == EINTR && waitpid(pid, NULL, 0) < 0) {
  }
  return result;
}

static int call_flock(void) {
  if (flock(lock_fds[0], LOCK_EX) != 0) return errno;
  flock(lock_fds[0], LOCK_UN);
  return 0;
}

static int call_fcntl_lock(void) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  if (fcntl(lock_fds[0], F_OFD_SETLKW, &lock) != 0) return errno;
  lock.l_type = F_UNLCK;
  fcntl(lock_fds[0], F_OFD_SETLK, &lock);
  return 0;
}

struct call {
  const char* name;
  int (*make)(void);
  bool has_timeout;
  bool in_jiffies;  // the kernel counts its timeout in ticks: see came_early()
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
    {.name = "recv", .make = call_recv, .has_timeout = true, .in_jiffies = true},
    {.name = "futex", .make = call_futex, .has_timeout = true},
    {.name = "msgrcv", .make = call_msgrcv, .has_timeout = false},
    {.name = "ppoll", .make = call_ppoll, .has_timeout = true},
    {.name = "pselect", .make = call_pselect, .has_timeout = true},
    {.name = "accept", .make = call_accept, .has_timeout = true, .in_jiffies = true},
    {.name = "mq_timedreceive", .make = call_mq_timedreceive, .has_timeout = false},
    {.name = "io_getevents", .make = call_io_getevents, .has_timeout = true},
    {.name = "sigsuspend", .make = call_sigsuspend, .has_timeout = true},
    {.name = "read", .make = call_read, .has_timeout = false},
    {.name = "waitpid", .make = call_waitpid, .has_timeout = true},
    {.name = "flock", .make = call_flock, .has_timeout = false},
    {.name = "fcntl_lock", .make = call_fcntl_lock, .has_timeout = false},
};
enum { kCalls = sizeof(calls) / sizeof(calls[0]) };

static int64_t ns(struct timespec time) { return time.tv_sec * 1000000000LL + time.tv_nsec; }

struct moment {
  int64_t exact_ns;
  int64_t of_ticks_ns;
};

static struct moment now(void) {
  struct timespec of_ticks;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &of_ticks);
  return (struct moment){now_ns(), ns(of_ticks)};
}

// A socket's timeout (socket(7), SO_RCVTIMEO) is counted in jiffies. Where the tick comes late, as
// on a virtual machine whose processor is taken away, they lag behind, and the timeout ends as much
// too early. The coarse clock lags with them: it may be one tick short.
static bool came_early(const struct call* call, struct moment start, struct moment end) {
  if (!call->has_timeout) return false;
  if (end.exact_ns - start.exact_ns >= kTimeout.tv_nsec - 1000) return false;
  if (!call->in_jiffies) return true;
  struct timespec tick;
  clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  return end.of_ticks_ns - start.of_ticks_ns < kTimeout.tv_nsec - ns(tick);
}

static void* run_call(void* argument) {
  struct call* call = argument;
  if (call->make == call_waitpid && children == 0) return NULL;
  while (!stopping()) {
    const struct moment start = now();
    const int error = call->make();
    const struct moment end = now();
    call->calls++;
    if (error == EINTR) {
      call->interrupted++;
    } else if (error != 0) {
      call->wrong++;
    } else if (came_early(call, start, end)) {
      call->too_short++;
    } else if (end.exact_ns - start.exact_ns > kLateMs * 1000000LL) {
      call->wrong++;
    }
    little_work(work_iterations);
    round_done();
  }
  return NULL;
}

// Holds the locks for as long as a timeout, and leaves them free for as long.
static void* hold_locks(void* unused) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  while (!stopping()) {
    flock(lock_fds[1], LOCK_EX);
    lock.l_type = F_WRLCK;
    fcntl(lock_fds[1], F_OFD_SETLKW, &lock);
    call_clock_nanosleep();
    flock(lock_fds[1], LOCK_UN);
    lock.l_type = F_UNLCK;
    fcntl(lock_fds[1], F_OFD_SETLK, &lock);
    call_clock_nanosleep();
  }
  return unused;
}

// Returns what those still wait for who must see the end.
static void* send_messages(void* unused) {
  while (!stopping()) {
    call_clock_nanosleep();
    if (write(pipe_fds[1], "", 1) != 1 && errno != EAGAIN) die("write");
    const struct message message = {1, now_ns()};
    if (msgsnd(message_queue, &message, sizeof(message.sent_ns), IPC_NOWAIT) != 0 &&
        errno != EAGAIN) {
      die("msgsnd");
    }
  }
  const struct message last = {1, 0};
  msgsnd(message_queue, &last, sizeof(last.sent_ns), IPC_NOWAIT);
  if (write(pipe_fds[1], "", 1) != 1 && errno != EAGAIN) die("write");
  return unused;
}

// A child's end is a SIGCHLD that nobody handles: no call may see it.
static void* run_children(void* unused) {
  while (!stopping()) {
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) _exit(0);
    while (waitpid(pid, NULL, 0) < 0) {
    }
    const struct timespec between = {0, (long)(1e9 / children)};
    nanosleep(&between, NULL);
  }
  return unused;
}

static void set_up_more(void) {
  listening_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_un name = {.sun_family = AF_UNIX};  // the kernel chooses one
  if (bind(listening_fd, (const struct sockaddr*)&name, sizeof(name.sun_family)) != 0 ||
      listen(listening_fd, 1) != 0) {
    die("listen");
  }
  const struct timeval timeout = {0, kTimeoutMs * 1000L};
  if (setsockopt(listening_fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0) {
    die("SO_RCVTIMEO");
  }
  char queue_name[64];
  snprintf(queue_name, sizeof(queue_name), "/blocking_calls.%d", (int)getpid());
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
  posix_queue = mq_open(queue_name, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
  if (posix_queue == (mqd_t)-1 || mq_unlink(queue_name) != 0) die("mq_open");
  if (syscall(SYS_io_setup, 1, &aio_context) != 0) die("io_setup");
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) die("pipe2");
  if (fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK) != 0) die("F_SETFL");
  char path[] = "/tmp/blocking_calls.XXXXXX";
  lock_fds[0] = mkostemp(path, O_CLOEXEC);
  lock_fds[1] = open(path, O_RDWR | O_CLOEXEC);
  if (lock_fds[0] < 0 || lock_fds[1] < 0 || unlink(path) != 0) die(path);
  struct sigaction action = {.sa_handler = count_alarm};
  if (sigaction(SIGUSR1, &action, NULL) != 0) die("sigaction");
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
  set_up_more();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGUSR1);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) die("sigprocmask");
}

int main(int argc, char** argv) {
  double work_us = 1000;
  const struct own_option own[] = {
      {"--children", &children, NULL, "fork so many a second, and wait for others (0)"},
      {"--work-us", &work_us, NULL, "work of each thread between two calls (1000)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "threads in every kind of blocking call; point: round_done", own);
  set_up();
  work_iterations = (uint64_t)(calibrate("little", little_work) * work_us / 1000);
  pthread_t sender;
  if (pthread_create(&sender, NULL, send_messages, NULL) != 0) die("pthread_create");
  for (int i = 0; i < kCalls; i++) {
    if (pthread_create(&calls[i].thread, NULL, run_call, &calls[i]) != 0) die("pthread_create");
  }
  pthread_t holder;
  if (pthread_create(&holder, NULL, hold_locks, NULL) != 0) die("pthread_create");
  pthread_t forking;
  if (children > 0 && pthread_create(&forking, NULL, run_children, NULL) != 0)
    die("pthread_create");
  ready();
  wait_for_end();
  pthread_join(sender, NULL);
  pthread_join(holder, NULL);
  if (children > 0) pthread_join(forking, NULL);
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

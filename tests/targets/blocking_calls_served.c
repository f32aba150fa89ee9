// Calls that last until another thread does something: serve(). Each is made by one thread.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "blocking_calls.h"
#include "harness.h"

enum { kPipeBytes = 4096 };  // F_SETPIPE_SZ takes no less

struct message {
  long type;
  int64_t sent_ns;
};

static int messages_in, messages_out;
static int semaphore_set;
static int pipe_fds[2];       // of read()
static int full_pipe_fds[2];  // of write()
static int terminal_fds[2];   // its master and its slave
static int socket_fds[2];
static char fifo_path[32];  // in /proc: it has no other name any more
static int inotify_fd, watched_fd;
static int lock_fds[2];  // the same file, opened twice
static unsigned lock_turn;
static _Atomic uint32_t futex_word;

static int all_or_error(ssize_t size, ssize_t expected) {
  return size == expected ? 0 : error_if(size < 0, 0);
}

static int call_read(void) {
  char byte = 0;
  return all_or_error(read(pipe_fds[0], &byte, 1), 1);
}

static int call_write(void) {
  static const char bytes[kPipeBytes] = "";
  return all_or_error(write(full_pipe_fds[1], bytes, sizeof(bytes)), sizeof(bytes));
}

static int call_terminal_read(void) {
  char byte = 0;
  return all_or_error(read(terminal_fds[1], &byte, 1), 1);
}

static int call_recvmsg(void) {
  char byte = 0;
  struct iovec part = {&byte, 1};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  return all_or_error(recvmsg(socket_fds[0], &header, 0), 1);
}

static int call_inotify_read(void) {
  char events[4096];
  const ssize_t size = read(inotify_fd, events, sizeof(events));
  return size > 0 ? 0 : error_if(size < 0, 0);
}

static int call_open_fifo(void) {
  const int fd = open(fifo_path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

static int call_msgrcv(void) {
  struct message message;
  return all_or_error(msgrcv(messages_in, &message, sizeof(message.sent_ns), 0, 0),
                      sizeof(message.sent_ns));
}

static int call_msgsnd(void) {
  const struct message message = {1, now_ns()};
  return msgsnd(messages_out, &message, sizeof(message.sent_ns), 0) == 0 ? 0 : errno;
}

static int call_semop(void) {
  struct sembuf take = {0, -1, 0};
  return semop(semaphore_set, &take, 1) == 0 ? 0 : errno;
}

static int call_futex_wait(void) {
  const uint32_t seen = atomic_load(&futex_word);
  const long result = syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  return result == 0 || errno == EAGAIN ? 0 : errno;  // EAGAIN: the wake came before the wait
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

const struct blocking_call calls_served[] = {
    {.name = "read", .make = call_read},
    {.name = "write", .make = call_write},
    {.name = "terminal_read", .make = call_terminal_read},
    {.name = "recvmsg", .make = call_recvmsg},
    {.name = "inotify_read", .make = call_inotify_read},
    {.name = "open_fifo", .make = call_open_fifo},
    {.name = "msgrcv", .make = call_msgrcv},
    {.name = "msgsnd", .make = call_msgsnd},
    {.name = "semop", .make = call_semop},
    {.name = "futex_wait", .make = call_futex_wait},
    {.name = "flock", .make = call_flock},
    {.name = "fcntl_lock", .make = call_fcntl_lock},
};
const size_t calls_served_count = sizeof(calls_served) / sizeof(calls_served[0]);

// For calls that never block here: a full, empty or free object is as good.
static void must(bool done, const char* what) {
  if (!done && errno != EAGAIN && errno != ENOMSG) die(what);
}

// The locks are free one time of eight: a thread that gets one continues at once. Other threads
// hold it for microseconds.
static void move_locks(void) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  if (lock_turn == 0) {
    flock(lock_fds[1], LOCK_UN);
    lock.l_type = F_UNLCK;
    fcntl(lock_fds[1], F_OFD_SETLK, &lock);
  } else if (lock_turn == 1) {
    flock(lock_fds[1], LOCK_EX);
    fcntl(lock_fds[1], F_OFD_SETLKW, &lock);
  }
  lock_turn = (lock_turn + 1) % 8;
}

void serve(void) {
  char bytes[kPipeBytes];
  must(write(pipe_fds[1], "", 1) == 1, "write to the pipe");
  must(read(full_pipe_fds[0], bytes, sizeof(bytes)) > 0, "read from the pipe");
  must(write(terminal_fds[0], "x", 1) == 1, "write to the terminal");
  must(send(socket_fds[1], "", 1, MSG_DONTWAIT) == 1, "send");
  must(pwrite(watched_fd, "x", 1, 0) == 1, "write to the watched file");
  const int reader = open(fifo_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  must(reader >= 0, "open of the FIFO");
  close(reader);
  struct message message = {1, now_ns()};
  const size_t size = sizeof(message.sent_ns);
  must(msgsnd(messages_in, &message, size, IPC_NOWAIT) == 0, "msgsnd");
  must(msgrcv(messages_out, &message, size, 0, IPC_NOWAIT) >= 0, "msgrcv");
  struct sembuf give = {0, 1, IPC_NOWAIT};
  if (semctl(semaphore_set, 0, GETVAL) == 0) must(semop(semaphore_set, &give, 1) == 0, "semop");
  atomic_fetch_add(&futex_word, 1);
  syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  move_locks();
}

static void set_up_terminal(void) {
  terminal_fds[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal_fds[0] < 0 || grantpt(terminal_fds[0]) != 0 || unlockpt(terminal_fds[0]) != 0) {
    die("posix_openpt");
  }
  terminal_fds[1] = open(ptsname(terminal_fds[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
  struct termios raw;
  if (terminal_fds[1] < 0 || tcgetattr(terminal_fds[1], &raw) != 0) die("the terminal");
  cfmakeraw(&raw);
  if (tcsetattr(terminal_fds[1], TCSANOW, &raw) != 0) die("tcsetattr");
}

static void set_up_files(void) {
  char path[] = "/tmp/blocking_calls.XXXXXX";
  lock_fds[0] = mkostemp(path, O_CLOEXEC);
  watched_fd = lock_fds[1] = open(path, O_RDWR | O_CLOEXEC);
  inotify_fd = inotify_init1(IN_CLOEXEC);
  if (lock_fds[0] < 0 || lock_fds[1] < 0 || inotify_fd < 0 ||
      inotify_add_watch(inotify_fd, path, IN_MODIFY) < 0 || unlink(path) != 0) {
    die(path);
  }
  const int fifo = mkfifo(path, 0600) == 0 ? open(path, O_PATH | O_CLOEXEC) : -1;
  if (fifo < 0 || unlink(path) != 0) die(path);
  snprintf(fifo_path, sizeof(fifo_path), "/proc/self/fd/%d", fifo);
}

static void set_up_queues(void) {
  messages_in = msgget(IPC_PRIVATE, 0600);
  messages_out = msgget(IPC_PRIVATE, 0600);
  semaphore_set = semget(IPC_PRIVATE, 1, 0600);
  struct msqid_ds limits;
  if (messages_in < 0 || messages_out < 0 || semaphore_set < 0 ||
      msgctl(messages_out, IPC_STAT, &limits) != 0) {
    die("msgget or semget");
  }
  limits.msg_qbytes = sizeof(int64_t);  // one message
  if (msgctl(messages_out, IPC_SET, &limits) != 0) die("IPC_SET");
}

void set_up_served(void) {
  set_up_queues();
  set_up_terminal();
  set_up_files();
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_fds) != 0) die("socketpair");
  if (pipe2(pipe_fds, O_CLOEXEC) != 0 || pipe2(full_pipe_fds, O_CLOEXEC) != 0) die("pipe2");
  if (fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK) != 0 ||
      fcntl(full_pipe_fds[0], F_SETFL, O_NONBLOCK) != 0 ||
      fcntl(full_pipe_fds[1], F_SETPIPE_SZ, kPipeBytes) != kPipeBytes) {
    die("fcntl of a pipe");
  }
}

void tear_down_served(void) {
  msgctl(messages_in, IPC_RMID, NULL);
  msgctl(messages_out, IPC_RMID, NULL);
  semctl(semaphore_set, 0, IPC_RMID);
}

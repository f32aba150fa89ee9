// target_waits KIND ROUNDS: makes one blocking call of that kind ROUNDS times, 50 ms each, and
// counts the calls that were disturbed: EINTR, a short sleep, a wrong result.
// target_waits forks ROUNDS: the same with sigtimedwait, while another thread forks and computes
// beside its child.
// target_waits parent ROUNDS: the same, beside one child that stays.
// target_waits crowd THREADS: THREADS threads blocked in futex, the main thread too, for ever.
// target_waits busy THREADS: THREADS threads that compute for ever, the main thread blocked.
// target_waits masked THREADS: the same, with every signal blocked in those threads.
// target_waits handler 1: blocked until its SIGTRAP handler has run; prints "handled".
// target_waits exec ROUNDS: at SIGUSR1 executes itself as `target_waits futex ROUNDS`.
// target_waits seccomp 1, target_waits ignore 1: blocked for ever, under a seccomp filter that
// allows everything, or with SIGTRAP ignored.
// Prints "ready" first and, when the rounds are done, "disturbed N"; exits with 1 when N > 0.
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kWaitMs = 50;
constexpr timespec kWait{0, kWaitMs * 1'000'000L};

long now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000L + now.tv_nsec / 1000;
}

int pipe_with_writer(int rounds) {  // the end to read from; a byte comes every kWaitMs
  int fds[2];
  if (pipe(fds) != 0) std::abort();
  if (fork() == 0) {
    for (int i = 0; i < rounds; ++i) {
      nanosleep(&kWait, nullptr);
      if (write(fds[1], "x", 1) != 1) break;
    }
    _exit(0);
  }
  return fds[0];
}

// True: the call did what it should.
bool wait_once(const std::string& kind, int fd) {
  static int word = 0;
  pollfd nothing{fd, POLLIN, 0};
  epoll_event event{};
  char byte = 0;
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  errno = 0;
  if (kind == "futex") {
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &kWait, nullptr, 0) == -1 && errno == ETIMEDOUT;
  }
  if (kind == "nanosleep") return nanosleep(&kWait, nullptr) == 0;
  if (kind == "poll") return poll(&nothing, 1, kWaitMs) == 0;
  if (kind == "ppoll") return ppoll(&nothing, 1, &kWait, &set) == 0;
  if (kind == "epoll") return epoll_wait(fd, &event, 1, kWaitMs) == 0;
  if (kind == "sigtimedwait" || kind == "forks" || kind == "parent")
    return sigtimedwait(&set, nullptr, &kWait) == -1 && errno == EAGAIN;
  if (kind == "read") return read(fd, &byte, 1) == 1 && byte == 'x';
  std::abort();
}

int wait_rounds(const std::string& kind, int rounds) {
  int fds[2] = {-1, -1};
  int fd = -1;
  if (kind == "read") {
    fd = pipe_with_writer(rounds);
  } else if (kind == "epoll") {
    fd = epoll_create1(0);
  } else if (pipe(fds) == 0) {
    fd = fds[0];
  }
  int disturbed = 0;
  std::puts("ready");
  for (int i = 0; i < rounds; ++i) {
    const long start_us = now_us();
    const bool right = wait_once(kind, fd);
    const int error = errno;
    const bool is_short = kind != "read" && now_us() - start_us < kWaitMs * 1000L;
    if (!right || is_short) {
      ++disturbed;
      std::printf("round %d: %ld us, errno %d\n", i, now_us() - start_us, error);
    }
  }
  std::printf("disturbed %d\n", disturbed);
  return disturbed > 0 ? 1 : 0;
}

// A child lives for a millisecond, during which its parent computes.
[[noreturn]] void fork_and_compute() {
  for (;;) {
    const pid_t child = fork();
    const long end_us = now_us() + 1000;
    while (now_us() < end_us) {
    }
    if (child == 0) _exit(0);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

[[noreturn]] void block() {
  static int word = 0;
  for (;;) syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
}

[[noreturn]] void compute() {
  for (volatile unsigned long value = 1;;) value = value * 6364136223846793005UL + 1;
}

std::atomic<int> set_up = 0;  // threads that are as their KIND says

void wait_for_set_up(int threads) {
  while (set_up < threads) std::this_thread::yield();
}

[[noreturn]] void fork_once_and_compute() {
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    block();
  }
  ++set_up;
  compute();
}

[[noreturn]] void compute_masked() {
  sigset_t all{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ++set_up;
  compute();
}

volatile sig_atomic_t handled = 0;

void on_trap(int) { handled = 1; }

int wait_for_handler() {
  struct sigaction action {};
  action.sa_handler = on_trap;
  sigaction(SIGTRAP, &action, nullptr);
  std::puts("ready");
  while (handled == 0) nanosleep(&kWait, nullptr);
  std::puts("handled");
  return 0;
}

int wait_to_execute(char** argv) {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  std::puts("ready");
  sigwaitinfo(&set, nullptr);
  execl(argv[0], argv[0], "futex", argv[2], nullptr);
  return 2;
}

void allow_everything_by_seccomp() {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog filter{1, &allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc != 3) return 2;
  const std::string kind = argv[1];
  const int count = std::atoi(argv[2]);
  if (kind == "handler") return wait_for_handler();
  if (kind == "exec") return wait_to_execute(argv);
  if (kind == "seccomp" || kind == "ignore") {
    if (kind == "seccomp") allow_everything_by_seccomp();
    if (kind == "ignore") std::signal(SIGTRAP, SIG_IGN);
    std::puts("ready");
    block();
  }
  if (kind == "parent") {
    std::thread(fork_once_and_compute).detach();
    wait_for_set_up(1);
  }
  if (kind == "forks") std::thread(fork_and_compute).detach();
  if (kind != "crowd" && kind != "busy" && kind != "masked") return wait_rounds(kind, count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back(kind == "crowd" ? block : kind == "busy" ? compute : compute_masked);
  }
  if (kind == "masked") wait_for_set_up(count);
  std::puts("ready");
  block();
}

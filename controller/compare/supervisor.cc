#include "controller/compare/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/execute.h"
#include "controller/base/procfs.h"
#include "controller/perf/event.h"

namespace causalctl::compare {
namespace {

using Message = SupervisorMessage;
using Step = Message::Step;

constexpr int kSocket = 3;
constexpr int kOutput = 4;
constexpr Nanoseconds kOrphanedGrace = kSecond;  // when the controller is gone
constexpr Nanoseconds kRestGrace = kSecond;      // for what the command left behind
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGCHLD};

struct Failure {
  Step step = Step::none;
  int error_number = 0;
};

Nanoseconds to_ns(const timeval& time) {
  return time.tv_sec * kSecond + time.tv_usec * kMicrosecond;
}

std::uint64_t own_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Whether there is any child left.
bool reap_children(const Reaped& reaped) {
  for (;;) {
    int status = 0;
    const Pid pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) return errno != ECHILD;
    if (pid == 0) return true;
    if (reaped) reaped(pid, status);
  }
}

Failure prepare(const Command& command) {
  if (!command.cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : command.cpus) {
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    }
    if (sched_setaffinity(0, sizeof set, &set) != 0) return {Step::affinity, errno};
  }
  if (command.nice && setpriority(PRIO_PROCESS, 0, *command.nice) != 0) return {Step::nice, errno};
  if (!command.directory.empty() && chdir(command.directory.c_str()) != 0) {
    return {Step::directory, errno};
  }
  return {};
}

// The child that becomes the command.
[[noreturn]] void become(const Command& command, Pid supervisor, int failure_pipe) {
  // Not cleared by exec, unless that changes the user.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(127);
  setsid();
  for (const int signal : kSignals) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(kOutput, STDOUT_FILENO);
  dup2(kOutput, STDERR_FILENO);
  perf::restore_descriptor_limit();  // or the later runs would have another one than the first
  Failure failure = prepare(command);
  if (failure.step == Step::none) {
    failure = {Step::execute, execute(command.words, command.environment)};
  }
  (void)!write(failure_pipe, &failure, sizeof failure);
  _exit(127);
}

class Supervisor {
 public:
  Supervisor(const Command& command, Nanoseconds grace_ns)
      : command_(command), grace_ns_(grace_ns) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, nullptr);
    signals_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  void run() {
    if (!start()) return;
    while (wait(-1)) reap();
    end_all();
  }

 private:
  void send(const Message& message) {
    (void)::send(kSocket, &message, sizeof message, MSG_NOSIGNAL);
  }

  bool start() {
    Message message;
    int ends[2] = {-1, -1};
    floor_bytes_ = own_peak_bytes();
    start_ns_ = monotonic_now();
    const Pid supervisor = getpid();
    main_ = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (main_ == 0) become(command_, supervisor, ends[1]);
    Failure failure;
    if (main_ < 0) {
      failure = {Step::fork, errno};
    } else {
      close(ends[1]);
      ssize_t size = 0;
      do {
        size = read(ends[0], &failure, sizeof failure);
      } while (size < 0 && errno == EINTR);
      close(ends[0]);
    }
    if (failure.step != Step::none) {
      message.kind = Message::Kind::failed;
      message.failed_step = failure.step;
      message.error_number = failure.error_number;
      if (main_ > 0) waitpid(main_, nullptr, 0);
    } else {
      message.pid = main_;
    }
    send(message);
    return failure.step == Step::none;
  }

  // Returns when a child has ended, after the time, or, false, when all is to be ended.
  bool wait(int timeout_ms) {
    pollfd fds[] = {{kSocket, POLLIN, 0}, {signals_, POLLIN, 0}};
    const auto count = static_cast<nfds_t>(ending_ ? 1 : 2);
    poll(ending_ ? fds + 1 : fds, count, timeout_ms);
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) > 0) continue;
    if (ending_ || fds[0].revents == 0) return true;
    char word = 0;
    controller_gone_ = recv(kSocket, &word, 1, MSG_DONTWAIT) <= 0;
    return false;
  }

  // Whether there is any child left.
  bool reap() {
    return reap_children([this](Pid pid, int status) { report(pid, status); });
  }

  void report(Pid pid, int status) {
    if (pid != main_) return;
    const Nanoseconds now_ns = monotonic_now();
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    Message message;
    message.kind = Message::Kind::ended;
    message.ended.status = status;
    message.ended.wall_ns = now_ns - start_ns_;
    message.ended.cpu_ns = to_ns(usage.ru_utime) + to_ns(usage.ru_stime);
    // The kernel keeps what the process had before its exec: a copy of us.
    const auto peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    message.ended.peak_bytes = peak_bytes > floor_bytes_ ? peak_bytes : 0;
    message.ended.switches =
        static_cast<std::uint64_t>(usage.ru_nvcsw) + static_cast<std::uint64_t>(usage.ru_nivcsw);
    main_ended_ = true;
    send(message);
  }

  // Until no child is left, the command itself (if asked for) has ended, or the time is over.
  bool reap_until(Nanoseconds deadline_ns, bool only_main) {
    constexpr int kStepMs = 5;
    for (;;) {
      if (!reap()) return true;
      if (only_main && main_ended_) return true;
      if (monotonic_now() >= deadline_ns) return false;
      wait(kStepMs);
    }
  }

  // The command first: a script that is told to end ends its own children in order.
  void end_all() {
    ending_ = true;
    const Nanoseconds grace_ns = controller_gone_ ? std::min(grace_ns_, kOrphanedGrace) : grace_ns_;
    const auto terminate = [](Pid pid) {
      kill(pid, SIGTERM);
      kill(pid, SIGCONT);  // one that is stopped would not see it
    };
    Message message;
    message.kind = Message::Kind::gone;
    if (reap()) {
      if (!main_ended_) terminate(main_);
      reap_until(monotonic_now() + grace_ns, true);
      for (const Pid pid : procfs::descendants(getpid())) terminate(pid);
      if (!reap_until(monotonic_now() + std::min(grace_ns, kRestGrace), false)) {
        message.left = kill_descendants([this](Pid pid, int status) { report(pid, status); });
      }
    }
    send(message);
  }

  const Command& command_;
  Nanoseconds grace_ns_;
  int signals_ = -1;
  Pid main_ = -1;
  bool main_ended_ = false;
  bool controller_gone_ = false;
  bool ending_ = false;
  Nanoseconds start_ns_ = 0;
  std::uint64_t floor_bytes_ = 0;
};

// Descriptors of ours, above all the sockets of other supervisors, must not stay open here.
void keep_only(int socket, int output) {
  const int kept_socket = fcntl(socket, F_DUPFD, 10);
  const int kept_output = fcntl(output, F_DUPFD, 10);
  const int nothing = open("/dev/null", O_RDWR);
  if (kept_socket < 0 || kept_output < 0 || nothing < 0) _exit(1);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  if (dup3(kept_socket, kSocket, O_CLOEXEC) < 0 || dup3(kept_output, kOutput, O_CLOEXEC) < 0) {
    _exit(1);
  }
  close_range(kOutput + 1, ~0U, 0);
}

}  // namespace

void run_supervisor(const Command& command, Nanoseconds grace_ns, int socket, int output) {
  keep_only(socket, output);
  setsid();  // Ctrl-C at the terminal is for the controller
  for (const int signal : kSignals) ::signal(signal, signal == SIGCHLD ? SIG_DFL : SIG_IGN);
  prctl(PR_SET_NAME, "ab-supervisor");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  try {
    Supervisor(command, grace_ns).run();
  } catch (const std::exception&) {  // no memory: what is left is ended by the simplest means
    kill_descendants();
  }
  _exit(0);
}

unsigned kill_descendants(const Reaped& reaped) {
  const Nanoseconds deadline_ns = monotonic_now() + kKillPatience;
  while (reap_children(reaped)) {
    const auto left = procfs::descendants(getpid());
    for (const Pid pid : left) kill(pid, SIGKILL);
    if (monotonic_now() >= deadline_ns) return static_cast<unsigned>(left.size());
    sleep_until(monotonic_now() + kMillisecond);
  }
  return 0;
}

}  // namespace causalctl::compare

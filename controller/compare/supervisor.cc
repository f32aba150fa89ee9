#include "controller/compare/supervisor.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
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
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/execute.h"
#include "controller/base/procfs.h"
#include "controller/perf/event.h"

namespace causalctl::compare {
namespace {

using Message = SupervisorMessage;

constexpr Nanoseconds kOrphanedGrace = kSecond;  // when the controller is gone
constexpr Nanoseconds kRestGrace = kSecond;      // for what the command left behind
// Waited for what ends shortly after the command by itself, as other parts of a pipeline do.
constexpr Nanoseconds kEndsWithCommand = 20 * kMillisecond;
// The kernel counts resident pages for each core, and adds them up later: what it tells may be
// less than the peak by this.
constexpr std::uint64_t kCountedLater = std::uint64_t{512} << 10;
constexpr int kIgnored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};

Nanoseconds to_ns(const timeval& time) {
  return time.tv_sec * kSecond + time.tv_usec * kMicrosecond;
}

std::uint64_t own_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Returns whether there is any child left.
bool reap_children(const Reaped& reaped) {
  for (;;) {
    int status = 0;
    const Pid pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) return errno != ECHILD;
    if (pid == 0) return true;
    if (reaped) reaped(pid, status);
  }
}

void bind_to(const std::vector<unsigned>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) == 0) return;
  throw UsageError(fmt::format("cannot be bound to CPUs {}: {}", fmt::join(cpus, ", "),
                               std::generic_category().message(errno)),
                   "taskset -p $$ shows which CPUs may be used");
}

void set_niceness(int nice) {
  if (setpriority(PRIO_PROCESS, 0, nice) == 0) return;
  throw UsageError(
      fmt::format("cannot have niceness {}: {}", nice, std::generic_category().message(errno)),
      "only root may go below the present niceness");
}

// In the child, which ends with the supervisor: an exec does not change that, unless it changes the
// user.
[[noreturn]] void become(const Command& command, Pid supervisor, int output) {
  end_with(supervisor, SIGKILL);
  setsid();
  for (const int signal : kIgnored) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  perf::restore_descriptor_limit();  // otherwise later runs would have another one than the first
  bind_to(command.cpus);
  if (command.nice) set_niceness(*command.nice);
  execute(command.words, command.environment, command.directory);
}

// CPU time of what this process starts, and of all that comes from it: also of those that the
// kernel reaps itself, because their parent ignores SIGCHLD, whose time getrusage(2) does not have.
class FamilyClock {
 public:
  FamilyClock() {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.inherit = 1;
    attr.disabled = 1;
    attr.enable_on_exec = 1;  // which we do not do ourselves
    try {
      event_ = perf::EventFd::open(attr, 0, "the CPU time of a command");
    } catch (const Error&) {  // not permitted, or no such event: getrusage(2) is left
    }
  }
  Nanoseconds used() const { return event_ ? static_cast<Nanoseconds>(event_->read_count()) : 0; }

 private:
  std::optional<perf::EventFd> event_;
};

class Supervisor {
 public:
  // `signals`: a signalfd of SIGCHLD.
  Supervisor(const Command& command, Nanoseconds grace_ns, const Channel& channel, int output,
             Fd signals)
      : command_(command),
        grace_ns_(grace_ns),
        channel_(channel),
        output_(output),
        signals_(std::move(signals)) {}

  void run() {
    if (!start()) return;
    while (wait(-1)) reap();
    end_all();
  }

 private:
  bool start() {
    Message message;
    clock_.emplace();
    start_ns_ = monotonic_now();
    try {
      main_ = start_command();
      message.pid = main_;
      floor_bytes_ = own_peak_bytes() + kCountedLater;  // after what the child used of it
    } catch (const Error& error) {
      message.kind = Message::Kind::failed;
      message.error.set(error);
    }
    (void)channel_.send(message);
    return message.kind == Message::Kind::started;
  }

  struct Becoming {
    const Command& command;
    Pid supervisor;
    int output;
    SentError failure{};
  };

  // Returns when the child has become the command. Until then it shares our memory, and we stand
  // still, as with vfork(2): a copy of a large process would take longer than a small command runs.
  Pid start_command() {
    constexpr std::size_t stack_bytes = 256 << 10;
    std::vector<std::byte> stack(stack_bytes);
    Becoming becoming{command_, getpid(), output_};
    const auto body = [](void* argument) -> int {
      auto& mine = *static_cast<Becoming*>(argument);
      try {
        become(mine.command, mine.supervisor, mine.output);
      } catch (const std::exception& error) {
        mine.failure.set(error);
      }
      _exit(127);
    };
    const Pid child =
        clone(body, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &becoming);
    if (child < 0) throw Error::from_errno("cannot start the command: clone", errno);
    if (becoming.failure.code == ExitCode::ok) return child;
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    becoming.failure.rethrow();
    return child;
  }

  // Returns when a child has ended or the time is over. Returns false when everything is to be
  // ended.
  bool wait(int timeout_ms) {
    pollfd fds[] = {{channel_.descriptor(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    const auto count = static_cast<nfds_t>(ending_ ? 1 : 2);
    poll(ending_ ? fds + 1 : fds, count, timeout_ms);
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) > 0) continue;
    if (ending_ || fds[0].revents == 0) return true;
    char word = 0;
    controller_gone_ = !channel_.receive(word, MSG_DONTWAIT);
    return false;
  }

  // Returns whether there is any child left.
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
    message.ended.cpu_ns = std::max(to_ns(usage.ru_utime) + to_ns(usage.ru_stime), clock_->used());
    // The kernel keeps what the process had before its exec: our memory.
    const auto peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    message.ended.peak_bytes = peak_bytes > floor_bytes_ ? peak_bytes : 0;
    message.ended.switches =
        static_cast<std::uint64_t>(usage.ru_nvcsw) + static_cast<std::uint64_t>(usage.ru_nivcsw);
    main_ended_ = true;
    (void)channel_.send(message);
  }

  // Reaps until no child is left, which returns true, the command itself has ended (if
  // `only_main`), or the time is over.
  bool reap_until(Nanoseconds deadline_ns, bool only_main) {
    constexpr int kStepMs = 5;
    for (;;) {
      if (!reap()) return true;
      if (only_main && main_ended_) return true;
      if (monotonic_now() >= deadline_ns) return false;
      wait(kStepMs);
    }
  }

  // The command is told first, because a script that is told to end ends its children in order.
  void end_all() {
    ending_ = true;
    const Nanoseconds grace_ns = controller_gone_ ? std::min(grace_ns_, kOrphanedGrace) : grace_ns_;
    const auto terminate = [](Pid pid) {
      kill(pid, SIGTERM);
      kill(pid, SIGCONT);  // one that is stopped would not see it
    };
    Message message;
    message.kind = Message::Kind::gone;
    if (main_ended_) reap_until(monotonic_now() + kEndsWithCommand, false);
    if (reap()) {
      const bool ended_before = main_ended_;
      if (!ended_before) terminate(main_);
      reap_until(monotonic_now() + grace_ns, true);
      const std::vector<Pid> rest = procfs::descendants(getpid());
      if (ended_before) message.outlived = static_cast<unsigned>(rest.size());
      for (const Pid pid : rest) terminate(pid);
      if (!reap_until(monotonic_now() + std::min(grace_ns, kRestGrace), false)) {
        message.left = kill_descendants([this](Pid pid, int status) { report(pid, status); });
      }
    }
    (void)channel_.send(message);
  }

  const Command& command_;
  Nanoseconds grace_ns_;
  const Channel& channel_;
  int output_;
  Fd signals_;
  Pid main_ = -1;
  bool main_ended_ = false;
  bool controller_gone_ = false;
  bool ending_ = false;
  std::optional<FamilyClock> clock_;
  Nanoseconds start_ns_ = 0;
  std::uint64_t floor_bytes_ = 0;
};

}  // namespace

void run_supervisor(const Command& command, Nanoseconds grace_ns, const Channel& channel,
                    int output) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  try {
    // The sockets of other supervisors, above all, must not stay open here.
    Fd signals = settle({.name = "ab-supervisor",
                         .ignored = {std::begin(kIgnored), std::end(kIgnored)},
                         .watched = {SIGCHLD},
                         .first_thread_signal = SIGCONT,  // the command may have stopped us
                         .kept = {channel.descriptor(), output}});
    Supervisor(command, grace_ns, channel, output, std::move(signals)).run();
  } catch (const std::exception&) {  // no memory: what is left is ended by the simplest means
    kill_descendants();
  }
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

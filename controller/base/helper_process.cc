#include "controller/base/helper_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

#include "controller/base/thread.h"

namespace causalctl {
namespace {

int poll_until(pollfd waited, Nanoseconds deadline_ns) {
  const Nanoseconds left_ns = std::max<Nanoseconds>(0, deadline_ns - monotonic_now());
  const timespec timeout{left_ns / kSecond, left_ns % kSecond};
  return ppoll(&waited, 1, &timeout, nullptr);
}

// Opens what has no content. Where /dev is missing, as below some chroot(2), that is the reading
// end of a pipe that has no other.
Fd open_nothing() {
  Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) return null;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error::from_errno("open(/dev/null), and pipe2", errno);
  close(ends[1]);
  return Fd(ends[0]);
}

void keep_only(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = STDERR_FILENO + 1;
  for (const int fd : kept) {
    const auto next = static_cast<unsigned>(fd);
    if (next > first) close_range(first, next - 1, 0);
    first = std::max(first, next + 1);
  }
  close_range(first, ~0U, 0);
  const Fd nothing = open_nothing();
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!std::binary_search(kept.begin(), kept.end(), fd)) dup2(nothing.get(), fd);
  }
}

}  // namespace

void SentText::set(std::string_view text) {
  const auto length = std::min(text.size(), bytes.size() - 1);
  std::copy_n(text.data(), length, bytes.data());
  bytes[length] = '\0';
}

void SentError::set(const std::exception& error) {
  what.set(error.what());
  code = ExitCode::bug;
  if (const auto* ours = dynamic_cast<const Error*>(&error)) {
    code = ours->code();
    error_number = ours->error_number();
    hint.set(ours->hint());
  }
}

void SentError::rethrow(std::string_view prefix) const {
  if (code == ExitCode::ok) return;
  auto text = fmt::format("{}{}", prefix, what.c_str());
  if (code == ExitCode::target_gone) throw TargetGone(text, hint.c_str());
  if (code == ExitCode::usage) throw UsageError(text, hint.c_str());
  if (error_number == 0) throw Error(text, hint.c_str(), code);
  const auto reason = ": " + std::generic_category().message(error_number);
  if (text.ends_with(reason)) text.resize(text.size() - reason.size());
  throw Error::from_errno(text, error_number, hint.c_str(), code);
}

bool Channel::is_closed() const {
  pollfd end{socket_.get(), 0, 0};
  return poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLERR)) != 0;
}

bool Channel::wait_until(Nanoseconds deadline_ns) const {
  return poll_until({socket_.get(), POLLIN, 0}, deadline_ns) > 0;
}

bool Channel::send_bytes(std::span<const std::byte> bytes) const {
  constexpr int tries = 3;
  for (int i = 0; i < tries; ++i) {
    const auto size = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size == static_cast<ssize_t>(bytes.size())) return true;
    if (errno == EPIPE || errno == ECONNRESET) return false;
  }
  return false;
}

bool Channel::receive_bytes(std::span<std::byte> bytes, int flags) const {
  ssize_t size = 0;
  do {
    size = recv(socket_.get(), bytes.data(), bytes.size(), flags);
  } while (size < 0 && errno == EINTR);
  if (size >= 0 || errno == ECONNRESET) errno = 0;
  return size == static_cast<ssize_t>(bytes.size());
}

HelperProcess::HelperProcess(std::string_view what, const Body& body) {
  const auto failed = [what](const char* call, int error) {
    return Error::from_errno(fmt::format("cannot start {}: {}", what, call), error);
  };
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw failed("socketpair", errno);
  }
  channel_ = Channel(Fd(ends[0]));
  Channel to_parent{Fd(ends[1])};
  const Pid parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    throw Error::from_errno(fmt::format("cannot start {}: fork", what), errno, kLimitHint);
  }
  if (pid_ > 0) return;
  channel_.close();
  body(to_parent, parent);
  _exit(0);
}

std::optional<int> HelperProcess::ended_within(Nanoseconds limit_ns) {
  if (status_) return status_;
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  const Nanoseconds deadline_ns = monotonic_now() + limit_ns;
  for (;;) {
    const bool over = monotonic_now() >= deadline_ns;
    int status = 0;
    const Pid ended = waitpid(pid_, &status, WNOHANG);
    // Where another has reaped it, the status is unknown.
    if (ended == pid_ || (ended < 0 && errno == ECHILD)) status_ = status;
    if (status_ || over) return status_;
    if (process) {
      poll_until({process.get(), POLLIN, 0}, deadline_ns);
    } else {  // no descriptor is left
      sleep_until(monotonic_now() + kMillisecond);
    }
  }
}

int HelperProcess::wait_for_end() {
  if (status_) return *status_;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  status_ = status;
  return status;
}

// In this order: a watched signal is kept only once it is blocked.
Fd settle(const HelperLife& life) {
  life.in_our_session ? setpgid(0, 0) : setsid();
  prctl(PR_SET_NAME, life.name);
  for (const int signal : life.ignored) std::signal(signal, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : life.watched) sigaddset(&watched, signal);
  sigprocmask(SIG_SETMASK, &watched, nullptr);
  if (life.first_thread_signal != 0) prctl(PR_SET_PDEATHSIG, life.first_thread_signal);
  keep_only(life.kept);
  Fd signals(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) throw Error::from_errno("signalfd", errno);
  return signals;
}

void end_with(Pid parent, int signal) {
  prctl(PR_SET_PDEATHSIG, signal);
  if (getppid() != parent) _exit(static_cast<int>(ExitCode::failed));
}

void execute_or_tell(const Channel& to_parent, const std::function<void()>& become) {
  SentError failure;
  try {
    become();
  } catch (const std::exception& error) {
    failure.set(error);
  }
  (void)to_parent.send(failure);
  _exit(127);
}

}  // namespace causalctl

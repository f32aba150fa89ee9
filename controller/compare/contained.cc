#include "controller/compare/contained.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/compare/supervisor.h"

namespace causalctl::compare {
namespace {

using Message = SupervisorMessage;
using Step = Message::Step;

constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr std::uint64_t kTailBytes = 2000;
constexpr std::size_t kTailLines = 8;

// A file without a name: a pipe would stop a command that writes more than anybody reads.
Fd make_output() {
  const char* directory = std::getenv("TMPDIR");
  Fd fd(open(directory != nullptr && *directory != '\0' ? directory : "/tmp",
             O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) fd = Fd(memfd_create("output", MFD_CLOEXEC));
  if (!fd) throw Error::from_errno("memfd_create", errno);
  return fd;
}

[[noreturn]] void refuse(const Message& message, const Command& command, const std::string& what) {
  const std::string reason = std::generic_category().message(message.error_number);
  switch (message.failed_step) {
    case Step::directory:
      throw UsageError(
          fmt::format("{}: cannot run in directory '{}': {}", what, command.directory, reason));
    case Step::affinity:
      throw UsageError(fmt::format("{}: cannot be bound to CPUs {}: {}", what,
                                   fmt::join(command.cpus, ", "), reason),
                       "taskset -p $$ shows which CPUs may be used");
    case Step::nice:
      throw UsageError(fmt::format("{}: cannot have niceness {}: {}", what, *command.nice, reason),
                       "only root may go below the present niceness");
    case Step::execute:
      throw UsageError(fmt::format("{}: cannot run '{}': {}", what, command.words[0], reason),
                       message.error_number == ENOENT
                           ? "give the path of the program, or a name that is in PATH"
                           : "is it an executable file that you may execute?");
    case Step::none:
    case Step::fork:
      break;
  }
  throw Error::from_errno("fork", message.error_number);
}

enum class Received { message, nothing, closed };

Received receive(int socket, Nanoseconds deadline_ns, Message& message) {
  const Nanoseconds left_ns = std::max<Nanoseconds>(0, deadline_ns - monotonic_now());
  const timespec timeout = {left_ns / kSecond, left_ns % kSecond};
  pollfd ready{socket, POLLIN, 0};
  if (ppoll(&ready, 1, &timeout, nullptr) <= 0) return Received::nothing;
  const ssize_t size = recv(socket, &message, sizeof message, 0);
  if (size < 0 && errno == EINTR) return Received::nothing;
  return size == sizeof message ? Received::message : Received::closed;
}

}  // namespace

bool Ended::succeeded() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

std::string Ended::text() const {
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return name != nullptr ? fmt::format("killed by SIG{}", name)
                         : fmt::format("killed by signal {}", WTERMSIG(status));
}

Contained::Contained(const Command& command, Nanoseconds grace_ns, std::string what)
    : output_(make_output()), grace_ns_(grace_ns), what_(std::move(what)) {
  INVARIANT(!command.words.empty());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error::from_errno("socketpair", errno);
  }
  socket_ = Fd(ends[0]);
  Fd supervisor_end(ends[1]);
  supervisor_ = fork();
  if (supervisor_ < 0) throw Error::from_errno("fork", errno);
  if (supervisor_ == 0) run_supervisor(command, grace_ns_, supervisor_end.get(), output_.get());
  supervisor_end.reset();
  Message message;
  Received received = Received::nothing;
  while (received == Received::nothing) {
    received = receive(socket_.get(), monotonic_now() + kSecond, message);
  }
  if (received == Received::message && message.kind == Message::Kind::started) {
    pid_ = message.pid;
    return;
  }
  forget_supervisor();
  if (received == Received::closed) throw Error(what_ + ": its supervisor was killed");
  refuse(message, command, what_);
}

Contained::~Contained() {
  try {
    end();
  } catch (const std::exception& error) {
    log::note("{}", error.what());
  }
}

std::vector<Pid> Contained::family() const { return procfs::descendants(supervisor_); }

std::optional<Ended> Contained::wait_until(Nanoseconds deadline_ns) {
  if (ended_ || supervisor_ == 0) return ended_;
  Message message;
  switch (receive(socket_.get(), deadline_ns, message)) {
    case Received::nothing:
      return std::nullopt;
    case Received::closed:
      throw Error(what_ + ": its supervisor was killed",
                  "look for the out-of-memory killer in the kernel's log");
    case Received::message:
      if (message.kind == Message::Kind::ended) ended_ = message.ended;
      break;
  }
  return ended_;
}

std::string Contained::output(std::uint64_t start) const {
  const auto left = written() - std::min(start, written());
  std::string text(std::min<std::uint64_t>(left, kMostOutput), '\0');
  const ssize_t size = pread(output_.get(), text.data(), text.size(), static_cast<off_t>(start));
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::uint64_t Contained::written() const {
  struct stat status {};
  return fstat(output_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string Contained::output_tail() const {
  const std::uint64_t size = written();
  std::string text = output(size - std::min(size, kTailBytes));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) return " (it has written nothing)";
  std::size_t lines = 0, start = text.size();
  while (start > 0 && lines < kTailLines) {
    const auto newline = text.rfind('\n', start - 1);
    start = newline == std::string::npos ? 0 : newline;
    ++lines;
  }
  if (start > 0) text.erase(0, start + 1);
  std::string indented = "; its output ends with:";
  for (std::size_t at = 0; at <= text.size();) {
    const auto newline = std::min(text.find('\n', at), text.size());
    indented += "\n    " + text.substr(at, newline - at);
    at = newline + 1;
  }
  return indented;
}

void Contained::end() {
  if (supervisor_ == 0) return;
  (void)::send(socket_.get(), "x", 1, MSG_NOSIGNAL);
  const Nanoseconds deadline_ns = monotonic_now() + grace_ns_ + kKillPatience + 5 * kSecond;
  Message message;
  unsigned left = 0;
  for (;;) {
    const Received received = receive(socket_.get(), deadline_ns, message);
    if (received == Received::nothing && monotonic_now() < deadline_ns) continue;
    if (received != Received::message) break;  // killed: what it had comes to us
    if (message.kind == Message::Kind::ended) ended_ = message.ended;
    if (message.kind != Message::Kind::gone) continue;
    left = message.left;
    break;
  }
  forget_supervisor();
  if (left > 0) {
    throw Error(fmt::format("{}: {} of its processes could not be ended", what_, left),
                "they changed their user, or are stuck in the kernel: see ps");
  }
}

// Reaps it. It ends by itself: all is done, or its socket has closed.
void Contained::forget_supervisor() {
  socket_.reset();
  int status = 0;
  while (waitpid(supervisor_, &status, 0) < 0 && errno == EINTR) continue;
  supervisor_ = 0;
}

// A shell that started something in the background and then became us by exec has left us children
// that are none of our business, and whose orphans would look like ours.
SubreaperScope::SubreaperScope() : active_(procfs::descendants(getpid()).empty()) {
  if (active_) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

SubreaperScope::~SubreaperScope() {
  if (!active_) return;
  const unsigned left = kill_descendants();
  if (left > 0) log::note("{} processes of the runs could not be ended", left);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace causalctl::compare

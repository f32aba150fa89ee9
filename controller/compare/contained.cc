#include "controller/compare/contained.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "config/text.h"
#include "controller/base/clock.h"
#include "controller/base/ends.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/signal_state.h"
#include "controller/compare/supervisor.h"

namespace causalctl::compare {
namespace {

using Message = SupervisorMessage;

constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr std::uint64_t kTailBytes = 2000;
constexpr std::uint64_t kTrimStep = std::uint64_t{64} << 10;  // in whole blocks of all file systems
constexpr Nanoseconds kTrimPause = 100 * kMillisecond;
constexpr Nanoseconds kTrimPauseOfMuch = 5 * kMillisecond;
constexpr std::size_t kTailLines = 8;

bool left_to_supervisors = false;  // processes that have not ended yet

// Gives the blocks of the file before `end` back to the file system. The rest stays where it is.
bool give_back(const Fd& file, std::uint64_t begin, std::uint64_t end) {
  return fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0;
}

// Makes a file in memory. A pipe would stop a command that writes more than is read; on a file
// system that is full, or fills up, a write of the command would fail.
Fd make_output() {
  constexpr unsigned not_executable = 8;  // MFD_NOEXEC_SEAL, which vm.memfd_noexec=2 demands
  Fd fd(memfd_create("output", MFD_CLOEXEC | not_executable));
  if (!fd) fd = Fd(memfd_create("output", MFD_CLOEXEC));  // before Linux 6.3
  // A command that opens /dev/stdout again has an offset of its own.
  if (!fd || fcntl(fd.get(), F_SETFL, O_APPEND) != 0)
    throw Error::from_errno("memfd_create", errno);
  return fd;
}

}  // namespace

bool Ended::succeeded() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

std::string Ended::text() const {
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  return "killed by " + name_of_signal(WTERMSIG(status));
}

Contained::Contained(const Command& command, Nanoseconds grace_ns, std::string what)
    : output_(make_output()), grace_ns_(grace_ns), what_(std::move(what)) {
  INVARIANT(!command.words.empty());
  supervisor_.emplace("a supervisor process", [&](Channel& channel, Pid) {
    run_supervisor(command, grace_ns_, channel, output_.get());
  });
  while (!supervisor_->channel().wait_until(monotonic_now() + kTrimPause)) wake_supervisor();
  Message message;
  const bool received = supervisor_->channel().receive(message);
  pid_ = message.pid;
  if (received && message.kind == Message::Kind::started) return;
  forget_supervisor();
  message.error.rethrow(what_ + ": ");
  throw Error(what_ + ": its supervisor was killed");
}

Contained::~Contained() {
  try {
    end();
  } catch (const std::exception& error) {
    log::note("{}", error.what());
  }
}

std::vector<Pid> Contained::family() const {
  return supervisor_ ? procfs::descendants(supervisor_->pid()) : std::vector<Pid>();
}

std::optional<Ended> Contained::wait_until(Nanoseconds deadline_ns) {
  if (ended_ || !supervisor_) return ended_;
  if (!wait_for_message(deadline_ns)) return std::nullopt;
  Message message;
  if (!supervisor_->channel().receive(message)) {
    throw Error(what_ + ": its supervisor was killed",
                "look for the out-of-memory killer in the kernel's log");
  }
  if (message.kind == Message::Kind::ended) ended_ = message.ended;
  trim();
  return ended_;
}

bool Contained::wait_for_message(Nanoseconds deadline_ns) {
  for (;;) {
    const Nanoseconds pause_ns = trim() ? kTrimPauseOfMuch : kTrimPause;
    const Nanoseconds until_ns = std::min(deadline_ns, monotonic_now() + pause_ns);
    if (supervisor_->channel().wait_until(until_ns)) return true;
    const Nanoseconds now_ns = monotonic_now();
    if (now_ns < until_ns || now_ns >= deadline_ns) return false;
  }
}

std::string Contained::output(std::uint64_t start) const {
  const auto left = written() - std::min(start, written());
  std::string text(std::min<std::uint64_t>(left, kMostOutput), '\0');
  const ssize_t size = pread(output_.get(), text.data(), text.size(), static_cast<off_t>(start));
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

bool Contained::trim() {
  const std::uint64_t size = written();
  if (released_ == 0 || size <= kMostOutput) return false;
  const std::uint64_t end = std::min(released_, size - kMostOutput) / kTrimStep * kTrimStep;
  if (end > trimmed_ && give_back(output_, trimmed_, end)) trimmed_ = end;
  return true;
}

std::uint64_t Contained::stored_bytes() const {
  struct stat status {};
  return fstat(output_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512
                                            : 0;
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
  if (!supervisor_) return;
  const Channel& channel = supervisor_->channel();
  (void)channel.send('x');
  const Nanoseconds begin_ns = monotonic_now();
  const Nanoseconds deadline_ns = begin_ns + grace_ns_ + kKillPatience + 5 * kSecond;
  unsigned left = 0;
  Message message;
  while (message.kind != Message::Kind::gone) {
    const Nanoseconds now_ns = monotonic_now();
    if (Interrupts::count() > 0 && now_ns - begin_ns > kPatienceOnceAsked) {
      return leave_to_supervisor();
    }
    if (now_ns - begin_ns > grace_ns_ && is_supervisor_stopped()) break;  // again and again
    wake_supervisor();
    if (!wait_for_message(std::min(deadline_ns, now_ns + kTrimPause))) {
      if (monotonic_now() < deadline_ns) continue;
      break;
    }
    if (!channel.receive(message)) break;  // it was killed: what it had comes to us
    if (message.kind == Message::Kind::ended) ended_ = message.ended;
    left = message.left;
    outlived_ = message.outlived;
  }
  if (message.kind != Message::Kind::gone) return kill_supervisor();
  forget_supervisor();
  if (left > 0) {
    throw Error(fmt::format("{}: {} of its processes could not be ended", what_, left),
                "they changed their user, or are stuck in the kernel: see ps");
  }
}

// A command may stop its parent (SIGSTOP), which then neither tells nor ends anything.
void Contained::wake_supervisor() const { kill(supervisor_->pid(), SIGCONT); }

bool Contained::is_supervisor_stopped() const {
  const auto status = procfs::status(supervisor_->pid());
  return status && status->state == 'T';
}

// The command dies with it, and what else it had comes to us.
void Contained::kill_supervisor() {
  kill(supervisor_->pid(), SIGKILL);
  forget_supervisor();
}

void Contained::leave_to_supervisor() {
  if (is_supervisor_stopped()) return kill_supervisor();
  log::note("{} has not ended yet: process {} sees to it, and kills it after {}", what_,
            supervisor_->pid(), config::duration_text(grace_ns_));
  left_to_supervisors = true;
  supervisor_.reset();
}

// The supervisor ends by itself: everything is done, or its channel has closed.
void Contained::forget_supervisor() {
  supervisor_->channel().close();
  supervisor_->wait_for_end();
  supervisor_.reset();
}

// A shell that started something in the background and then became this process by exec has left it
// children that do not concern us, and their orphans would look like ours.
SubreaperScope::SubreaperScope() : active_(procfs::descendants(getpid()).empty()) {
  if (active_) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

SubreaperScope::~SubreaperScope() {
  if (!active_ || left_to_supervisors) return;
  const unsigned left = kill_descendants();
  if (left > 0) log::note("{} processes of the runs could not be ended", left);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace causalctl::compare

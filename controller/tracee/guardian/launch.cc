#include "controller/tracee/guardian/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/execute.h"
#include "controller/base/signal_state.h"
#include "controller/tracee/ptrace.h"

namespace causalctl::tracee {
namespace {

void make_pipe(Fd& reader, Fd& writer) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw Error::from_errno("pipe2", errno);
  reader = Fd(fds[0]);
  writer = Fd(fds[1]);
}

}  // namespace

LaunchedChild::LaunchedChild(const Launch& launch, Pid tracer) : directory_(launch.directory) {
  if (launch.command.empty()) throw UsageError("no command to run");
  command_ = launch.command[0];
  make_pipe(child_go_, go_);
  make_pipe(failure_, child_failure_);
  pid_ = fork();
  if (pid_ < 0) throw Error::from_errno("fork", errno);
  if (pid_ == 0) run(launch, tracer);
  child_go_.reset();
  child_failure_.reset();
}

void LaunchedChild::run(const Launch& launch, Pid tracer) {
  SignalState::at_start().restore();
  go_.reset();
  prctl(PR_SET_PTRACER, static_cast<unsigned long>(tracer));
  char word = 0;
  ssize_t size = 0;
  do {
    size = read(child_go_.get(), &word, 1);
  } while (size < 0 && errno == EINTR);
  if (size != 1) _exit(127);
  Failure failure;
  if (!launch.directory.empty() && chdir(launch.directory.c_str()) != 0) {
    failure = {errno, true};
  } else {
    failure = {causalctl::execute(launch.command, launch.environment), false};
  }
  (void)!write(child_failure_.get(), &failure, sizeof failure);
  _exit(127);
}

void LaunchedChild::execute() {
  (void)!write(go_.get(), "x", 1);
  Failure failure;
  ssize_t size = 0;
  do {
    size = read(failure_.get(), &failure, sizeof failure);
  } while (size < 0 && errno == EINTR);
  if (size != sizeof failure) return;
  const auto reason = std::generic_category().message(failure.error_number);
  if (failure.in_directory) {
    throw UsageError(fmt::format("cannot run in directory '{}': {}", directory_, reason));
  }
  throw UsageError(fmt::format("cannot run '{}': {}", command_, reason),
                   failure.error_number == ENOENT
                       ? "give the path of the program, or a name that is in PATH"
                       : "is it an executable file that you may execute?");
}

void kill_and_reap(Pid child) {
  kill(child, SIGKILL);
  const Nanoseconds deadline_ns = monotonic_now() + kSecond;
  while (!ptrace::reap_if_ended(child) && monotonic_now() < deadline_ns) {
    sleep_until(monotonic_now() + kMillisecond);
  }
}

}  // namespace causalctl::tracee

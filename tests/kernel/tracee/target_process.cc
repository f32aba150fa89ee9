#include "tests/kernel/tracee/target_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "controller/base/procfs.h"

namespace causalctl::tracee::test {

std::string program(const std::string& name) {
  const auto self = procfs::executable(getpid());
  return self.substr(0, self.rfind('/')) + "/targets/" + name;
}

TargetProcess::TargetProcess(std::vector<std::string> command) {
  int fds[2];
  REQUIRE(pipe2(fds, O_CLOEXEC) == 0);
  output_ = Fd(fds[0]);
  Fd write_end(fds[1]);
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    dup2(write_end.get(), STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  write_end.reset();
  std::string line;
  for (char byte = 0; byte != '\n' || !line.starts_with("ready");) {
    if (byte == '\n') line.clear();
    REQUIRE(read(output_.get(), &byte, 1) == 1);
    line += byte;
  }
}

bool handles(Pid pid, int signal) {
  return procfs::has_signal(procfs::status(pid).value().signals_caught, signal);
}

bool handler_is_installed(Pid pid) { return handles(pid, SIGTRAP); }

BlockSigchld::BlockSigchld() {
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child, &before_);
}

BlockSigchld::~BlockSigchld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

TargetProcess::~TargetProcess() {
  if (reaped_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool TargetProcess::ended() {
  if (!reaped_) reaped_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return reaped_;
}

int TargetProcess::wait() {
  if (!reaped_) reaped_ = waitpid(pid_, &status_, 0) == pid_;
  return status_;
}

std::string TargetProcess::output() {
  std::string text;
  char buffer[4096];
  for (ssize_t size = 0; (size = read(output_.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace causalctl::tracee::test

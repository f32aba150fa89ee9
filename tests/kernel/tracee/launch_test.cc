// Tests the child that becomes the target, without a guardian.
#include "controller/tracee/guardian/launch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "controller/base/error.h"
#include "controller/base/signal_state.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
namespace {

using Catch::Matchers::Contains;

int status_of(Pid child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

int status_of_shell(const std::string& script) {
  LaunchedChild child({{"sh", "-c", script}, {}, {}}, getpid());
  child.execute();
  return status_of(child.pid());
}

std::string hint_of(const std::string& program) {
  LaunchedChild child({{program}, {}, {}}, getpid());
  std::string hint;
  try {
    child.execute();
  } catch (const UsageError& error) {
    hint = error.hint();
  }
  status_of(child.pid());
  return hint;
}

}  // namespace

TEST_CASE("a launched program treats signals as at the start of causalctl", "[tracee]") {
  SignalState::at_start();
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  REQUIRE(sigprocmask(SIG_BLOCK, &one, &before) == 0);
  const auto pipe_before = signal(SIGPIPE, SIG_IGN);
  const int blocked = status_of_shell("kill -USR2 $$; exit 7");
  const int ignored = status_of_shell("kill -PIPE $$; exit 7");
  signal(SIGPIPE, pipe_before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  CHECK((WIFSIGNALED(blocked) && WTERMSIG(blocked) == SIGUSR2));
  CHECK((WIFSIGNALED(ignored) && WTERMSIG(ignored) == SIGPIPE));
}

TEST_CASE("a child that is never told to execute its program ends without it", "[tracee]") {
  const auto path =
      std::filesystem::temp_directory_path() / ("causalctl-launch-" + std::to_string(getpid()));
  Pid pid = 0;
  {
    const LaunchedChild child({{"touch", path.string()}, {}, {}}, getpid());
    pid = child.pid();
  }
  const int status = status_of(pid);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 127));
  CHECK_FALSE(std::filesystem::remove(path));
}

TEST_CASE("what to do about a program that cannot be executed", "[tracee]") {
  CHECK_THAT(hint_of("/nonexistent/program"), Contains("a name that is in PATH"));
  CHECK_THAT(hint_of("/etc/passwd"), Contains("is it an executable file"));
}

}  // namespace causalctl::tracee

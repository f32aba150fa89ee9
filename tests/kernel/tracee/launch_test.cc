// Tests the child that becomes the target, without a guardian.
#include "controller/tracee/guardian/launch.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
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

// From here on the calling process cannot send: no memory, for ever.
void lose_all_messages() {
  sock_filter refuse[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOBUFS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{4, refuse};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(100);
  }
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

TEST_CASE("a child whose controller is killed before the word to execute ends", "[tracee]") {
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1L) == 0);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const Pid controller = fork();
  if (controller == 0) {
    const LaunchedChild child({{"sleep", "1000"}, {}, {}}, getpid());
    const Pid pid = child.pid();
    (void)!write(ends[1], &pid, sizeof pid);
    kill(getpid(), SIGKILL);
  }
  Pid child = 0;
  REQUIRE(read(ends[0], &child, sizeof child) == sizeof child);
  close(ends[0]);
  close(ends[1]);
  status_of(controller);
  int status = 0;
  REQUIRE(test::eventually(5 * kSecond, [&] { return waitpid(child, &status, WNOHANG) == child; }));
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 127));
}

TEST_CASE("that the word to execute could not be sent is said, and the child ends", "[tracee]") {
  const Pid controller = fork();
  if (controller == 0) {
    LaunchedChild child({{"true"}, {}, {}}, getpid());
    lose_all_messages();
    int error = 0;
    try {
      child.execute();
    } catch (const Error& failure) {
      error = failure.error_number();
    }
    int status = 0;
    const bool ended = waitpid(child.pid(), &status, 0) == child.pid();
    _exit(error == ENOBUFS && ended && WEXITSTATUS(status) == 127 ? 0 : 1);
  }
  int status = -1;
  CHECK(test::eventually(5 * kSecond,
                         [&] { return waitpid(controller, &status, WNOHANG) == controller; }));
  if (status == -1) {
    kill(controller, SIGKILL);  // its child sees its channel close
    status_of(controller);
  }
  CHECK(status == 0);
}

TEST_CASE("what to do about a program that cannot be executed", "[tracee]") {
  CHECK_THAT(hint_of("/nonexistent/program"), Contains("a name that is in PATH"));
  CHECK_THAT(hint_of("/etc/passwd"), Contains("is it an executable file"));
}

}  // namespace causalctl::tracee

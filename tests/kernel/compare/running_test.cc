#include "controller/compare/running.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "controller/base/procfs.h"

namespace causalctl::compare {
namespace {

// Returns a child that waits to be killed, with this number if it is not 0; -1 if that is not
// permitted.
Pid waiting_child(Pid number) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  pid_t wanted = number;
  if (number != 0) {
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
    arguments.set_tid_size = 1;
  }
  const auto child = static_cast<Pid>(syscall(SYS_clone3, &arguments, sizeof arguments));
  while (child == 0) ::pause();
  return child;
}

void end(Pid child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("a running process has ended though another one has its number", "[compare]") {
  const Pid child = waiting_child(0);
  REQUIRE(child > 0);
  const Running running(child);
  CHECK(running.pid() == child);
  CHECK_FALSE(running.has_ended());
  end(child);
  CHECK(running.has_ended());
  const Pid another = waiting_child(child);  // needs CAP_CHECKPOINT_RESTORE
  if (another != child) return;
  CHECK_FALSE(procfs::has_ended(child));
  CHECK(running.has_ended());
  CHECK_FALSE(Running(another).has_ended());
  end(another);
}

}  // namespace
}  // namespace causalctl::compare

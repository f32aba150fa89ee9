// The doctor finds out what works and changes nothing.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "controller/base/procfs.h"
#include "controller/commands/doctor_checks.h"
#include "controller/pause/blocked_trap.h"
#include "controller/perf/trials.h"
#include "tests/kernel/progress/probed_child.h"
#include "tests/support/pretend_broken.h"

namespace causalctl::commands {

using Catch::Matchers::Contains;

namespace {

Check find(const std::vector<Check>& checks, const std::string& name) {
  for (const auto& check : checks) {
    if (check.name == name) return check;
  }
  FAIL("no check named " << name);
  return {};
}

// A child that has called `prepare` and waits until it is killed.
template <typename Prepare>
class Waiting {
 public:
  explicit Waiting(Prepare prepare) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prepare();
      if (write(ready[1], "r", 1) != 1) _exit(1);
      for (;;) ::pause();
    }
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Waiting() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  Pid pid() const { return pid_; }

 private:
  Pid pid_ = 0;
};

std::string state_of(Pid pid) {
  std::string state = procfs::read_text(fmt::format("/proc/{}/maps", pid)).value_or("");
  const auto status = procfs::status(pid);
  REQUIRE(status);
  return state + fmt::format("{} {} {:x} {:x} {:x}", status->tracer_pid, status->threads,
                             status->signals_blocked, status->signals_caught,
                             status->signals_pending | status->signals_pending_shared);
}

}  // namespace

TEST_CASE("the doctor leaves a process as it was", "[progress][doctor]") {
  probed::Child child;
  const auto before = state_of(child.pid());
  CHECK(run_doctor(child.pid()) ==
        (profile_possible(check_machine()) ? ExitCode::ok : ExitCode::failed));
  CHECK(state_of(child.pid()) == before);
  const auto checks = check_target(child.pid());
  REQUIRE(checks);
  CHECK(profile_possible(*checks));
  CHECK_THAT(find(*checks, "debug information").finding, Contains("lines"));
  CHECK_THAT(find(*checks, "USDT probes").finding, !Contains("0 (") || Contains("10 ("));
  if (pause::sigtrap_trial().is_seen()) CHECK(find(*checks, "pause channel").finding == "sigtrap");
}

TEST_CASE("the doctor of no process", "[progress][doctor]") {
  CHECK(run_doctor(0x3ffffff) == ExitCode::target_gone);
  CHECK_FALSE(check_target(0));
  CHECK_FALSE(check_target(-1));
}

TEST_CASE("the doctor sees what forbids the sigtrap channel", "[progress][doctor]") {
  const Waiting handles([] { signal(SIGTRAP, [](int) {}); });
  CHECK_THAT(find(*check_target(handles.pid()), "pause channel").finding,
             Contains("ptrace") && Contains("handles SIGTRAP"));
  const Waiting ignores([] { signal(SIGTRAP, SIG_IGN); });
  CHECK_THAT(find(*check_target(ignores.pid()), "pause channel").finding, Contains("ignores"));
  const Waiting blocks([] {
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, nullptr);
  });
  CHECK_THAT(find(*check_target(blocks.pid()), "pause channel").finding,
             Contains("sigtrap") && Contains("block SIGTRAP, by ptrace: 1"));
}

TEST_CASE("the doctor refuses a traced process and a zombie", "[progress][doctor]") {
  const Waiting child([] {});
  REQUIRE(ptrace(PTRACE_SEIZE, child.pid(), 0, 0) == 0);
  const auto traced = check_target(child.pid());
  REQUIRE(ptrace(PTRACE_INTERRUPT, child.pid(), 0, 0) == 0);
  REQUIRE(waitpid(child.pid(), nullptr, __WALL) == child.pid());
  REQUIRE(ptrace(PTRACE_DETACH, child.pid(), 0, 0) == 0);
  CHECK_FALSE(profile_possible(*traced));
  CHECK_THAT(find(*traced, "tracer").finding,
             Contains(fmt::format("already traced by {}", getpid())));

  const Pid zombie = fork();
  if (zombie == 0) _exit(0);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(profile_possible(*check_target(zombie)));
  waitpid(zombie, nullptr, 0);
}

TEST_CASE("samples of a process tell whether its code would be found", "[progress][doctor]") {
  const Waiting idle([] {});
  if (check_trial(perf::try_sample()).verdict != Verdict::ok) return;
  CHECK(sample_activity(idle.pid()).samples == 0);
  const Waiting busy([] {
    if (fork() != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) asm volatile("" ::: "memory");
  });
  const auto children = procfs::descendants(busy.pid());
  REQUIRE(children.size() == 1);
  const Activity activity = sample_activity(children[0]);
  CHECK(activity.samples > 20);
  CHECK(activity.in_scope == activity.samples);
}

}  // namespace causalctl::commands

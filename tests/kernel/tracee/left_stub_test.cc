// Tests a stub that another causalctl, at work or killed, put into the target before the attach.
#include "controller/tracee/inject/left_stub.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/tracee/guardian/guardian.h"
#include "controller/tracee/target_lock.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
namespace {

using test::eventually;
using test::handler_is_installed;
using test::program;
using test::TargetProcess;

std::string error_of_adopt(Pid target) {
  try {
    Guardian guardian;
    guardian.adopt(target);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A process that has injected the stub and then does nothing, and its guardian.
class OtherController {
 public:
  explicit OtherController(Pid target) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error::from_errno("pipe2", errno);
    const Fd read_end(ends[0]);
    const Fd write_end(ends[1]);
    pid_ = fork();
    if (pid_ == 0) run(target, write_end.get());
    char done = 0;  // the injection is over, and the guardian uses no register of the target
    const auto children = pid_ > 0 && read(read_end.get(), &done, 1) == 1 && done == 'y'
                              ? procfs::descendants(pid_)
                              : std::vector<Pid>{};
    if (children.size() != 1) {
      kill_both();
      throw Error("the other controller could not inject");
    }
    guardian_ = children.front();
  }
  ~OtherController() { kill_both(); }

  void kill_both() {
    if (pid_ == 0) return;
    if (guardian_ > 0) kill(guardian_, SIGKILL);  // first, because it would clean up
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  Pid pid() const { return pid_; }
  Pid guardian() const { return guardian_; }

 private:
  [[noreturn]] static void run(Pid target, int done) {
    try {
      Guardian guardian;
      guardian.adopt(target);
      guardian.inject(64);
      (void)!write(done, "y", 1);
      for (;;) pause();
    } catch (...) {
      (void)!write(done, "n", 1);
    }
    _exit(1);
  }

  Pid pid_ = 0;
  Pid guardian_ = 0;
};

// The stub is left by a controller and a guardian that are gone.
LeftStub left_by_killed(Pid target) {
  OtherController other(target);
  other.kill_both();
  const auto left = find_left_stub(target);
  REQUIRE(left);
  // The guardian is a child of no process that waits for it.
  REQUIRE(
      eventually(10 * kSecond, [&] { return state_of(left->owner, target) == OwnerState::gone; }));
  return *left;
}

TEST_CASE("what a causalctl that is at work has put there stays", "[tracee]") {
  TargetProcess target({program("target_waits"), "futex", "10000"});
  OtherController other(target.pid());
  CHECK(error_of_adopt(target.pid()) == "process " + std::to_string(target.pid()) +
                                            " is being profiled by causalctl, process " +
                                            std::to_string(other.pid()));
  CHECK(handler_is_installed(target.pid()));
  const auto left = find_left_stub(target.pid());
  REQUIRE(left);
  CHECK(left->owner.guardian.pid == static_cast<std::uint64_t>(other.guardian()));
  CHECK(state_of(left->owner, target.pid()) == OwnerState::at_work);
}

// With ptrace pauses, nothing in the target would tell of the other causalctl.
TEST_CASE("two do not adopt the same process", "[tracee]") {
  TargetProcess target({program("target_waits"), "futex", "10000"});
  CHECK_FALSE(locked_by_causalctl(target.pid()));
  {
    Guardian first;
    first.adopt(target.pid());
    const auto holder = locked_by_causalctl(target.pid());
    REQUIRE(holder);
    CHECK_THAT(
        error_of_adopt(target.pid()),
        Catch::Contains("is being profiled by causalctl, process " + std::to_string(*holder)));
  }
  CHECK(error_of_adopt(target.pid()).empty());
}

// Every user may lock that folder, but must not be able to keep us out by that.
TEST_CASE("somebody else's lock is none of ours", "[tracee]") {
  TargetProcess target({program("target_waits"), "futex", "10000"});
  const Fd folder(open(("/proc/" + std::to_string(target.pid())).c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(flock(folder.get(), LOCK_EX | LOCK_NB) == 0);
  CHECK_FALSE(locked_by_causalctl(target.pid()));
  CHECK(error_of_adopt(target.pid()).empty());
}

TEST_CASE("nor is that of another user who calls himself a guardian", "[tracee]") {
  if (geteuid() != 0) {
    WARN("only root can act as another user: nothing tested");
    return;
  }
  TargetProcess target({program("target_waits"), "futex", "10000"});
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const bool other = GENERATE(true, false);
  const Pid holder = fork();
  if (holder == 0) {
    prctl(PR_SET_NAME, kGuardianName);
    const Fd folder(open(("/proc/" + std::to_string(target.pid())).c_str(), O_RDONLY));
    const bool locked = flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
    const bool changed = !other || setresuid(65534, 65534, 65534) == 0;
    (void)!write(write_end.get(), locked && changed ? "y" : "n", 1);
    for (;;) pause();
  }
  char done = 0;
  REQUIRE(read(read_end.get(), &done, 1) == 1);
  CHECK(done == 'y');
  CHECK(locked_by_causalctl(target.pid()).has_value() != other);
  CHECK(error_of_adopt(target.pid()).empty() == other);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
}

// … whose first thread it has stopped just then: that it is traced is not what the user should
// read.
TEST_CASE("who is paused by another causalctl is being profiled, not debugged", "[tracee]") {
  TargetProcess target({"/bin/sh", "-c", "echo ready; while :; do :; done"});
  Guardian first;
  first.adopt(target.pid());
  first.pause(target.pid(), 5 * kSecond);
  const auto traced = [&] { return procfs::status(target.pid()).value().tracer_pid != 0; };
  REQUIRE(eventually(3 * kSecond, traced));
  CHECK_THAT(error_of_adopt(target.pid()), Catch::Contains("is being profiled by causalctl"));
}

TEST_CASE("the stub of one that was killed with its guardian is removed", "[tracee]") {
  TargetProcess target({program("target_waits"), "futex", "10000"});
  (void)left_by_killed(target.pid());
  Guardian guardian;
  guardian.adopt(target.pid());
  CHECK_FALSE(handler_is_installed(target.pid()));
  CHECK_FALSE(find_left_stub(target.pid()));
  // … and there can be a profile as ever.
  const auto before = guardian.digest();
  guardian.inject(64);
  CHECK(find_left_stub(target.pid()));
  CHECK(guardian.restore() == std::vector<std::string>{});
  CHECK(differences(before, guardian.digest()).empty());
}

// A guardian that is killed while it has a thread stopped leaves that thread boosted.
TEST_CASE("a thread that was left boosted is scheduled as before", "[tracee]") {
  if (geteuid() != 0) {
    WARN("needs root, for real-time priority");
    return;
  }
  TargetProcess target({program("target_waits"), "futex", "10000"});
  const auto stopped = static_cast<Tid>(left_by_killed(target.pid()).owner.before_boost.tid);
  REQUIRE(procfs::thread_status(target.pid(), stopped));
  const int before = sched_getscheduler(stopped);
  // A priority that is lower by one was set by the target itself.
  const int own = GENERATE(0, 1);
  const sched_param priority{sched_get_priority_max(SCHED_FIFO) - own};
  REQUIRE(sched_setscheduler(stopped, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0);
  Guardian guardian;
  guardian.adopt(target.pid());
  const int after = own != 0 ? SCHED_FIFO | SCHED_RESET_ON_FORK : before;
  CHECK(sched_getscheduler(stopped) == after);
}

TEST_CASE("what is noted of a thread is believed of the target's own only", "[tracee]") {
  TargetProcess target({program("target_waits"), "futex", "10000"});
  TargetProcess stranger({program("target_waits"), "futex", "10000"});
  const int boosted = SCHED_FIFO | SCHED_RESET_ON_FORK;
  const sched_param highest{sched_get_priority_max(SCHED_FIFO)};
  if (sched_setscheduler(stranger.pid(), boosted, &highest) != 0) {
    WARN("needs root, for real-time priority");
    return;
  }
  const SchedulingBefore note{static_cast<std::uint64_t>(stranger.pid()), SCHED_OTHER, 50'000};
  restore_scheduling(target.pid(), note);
  CHECK(sched_getscheduler(stranger.pid()) == boosted);
  restore_scheduling(stranger.pid(), {note.tid, SCHED_RR, 50'000});
  CHECK(sched_getscheduler(stranger.pid()) == boosted);
  restore_scheduling(stranger.pid(), note);
  CHECK(sched_getscheduler(stranger.pid()) == SCHED_OTHER);
  CHECK(procfs::read_text(fmt::format("/proc/{}/timerslack_ns", stranger.pid())) == "50000\n");
}

TEST_CASE("a stub is removed only if its causalctl is certainly gone", "[tracee]") {
  const Pid self = getpid();
  const Owner owner = make_owner(self, self, self);
  CHECK(owner.controller.start_ticks > 0);
  CHECK(state_of(owner, self) == OwnerState::at_work);
  CHECK(state_of(Owner{}, self) == OwnerState::unknown);

  Owner changed = owner;
  changed.controller.start_ticks += 1;                    // another process has its number now
  CHECK(state_of(changed, self) == OwnerState::at_work);  // its guardian still exists
  changed.guardian.start_ticks += 1;
  CHECK(state_of(changed, self) == OwnerState::gone);
  changed.pid_namespace += 1;
  CHECK(state_of(changed, self) == OwnerState::unknown);
  changed = owner;
  changed.time_namespace += 1;  // start times are counted from another moment there
  CHECK(state_of(changed, self) == OwnerState::unknown);
  changed = owner;
  changed.target.start_ticks -= 1;  // a child that shares the target's memory by vfork
  CHECK(state_of(changed, self) == OwnerState::unknown);
  changed.controller.start_ticks += 1;
  changed.guardian.start_ticks += 1;
  CHECK(state_of(changed, self) == OwnerState::unknown);
  changed = owner;
  changed.controller.start_ticks = 0;  // it could not be read when it was written
  changed.guardian.start_ticks = 0;
  CHECK(state_of(changed, self) == OwnerState::unknown);
}

}  // namespace
}  // namespace causalctl::tracee

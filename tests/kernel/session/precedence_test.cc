// The priority of causalctl's own thread, beside targets with priorities of their own. They sleep,
// so that they keep nobody from a core.
#include "controller/session/precedence.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/tracee/process.h"
#include "tests/kernel/tracee/target_process.h"
#include "tests/support/skip.h"

namespace causalctl::session {
namespace {

using Catch::Matchers::Contains;
using tracee::test::eventually;
using tracee::test::program;
using tracee::test::TargetProcess;

int policy_now(Tid tid = 0) { return sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK; }

int priority_now() {
  sched_param now{};
  return sched_getparam(0, &now) == 0 ? now.sched_priority : -1;
}

bool set(Tid tid, int policy, int priority) {
  const sched_param wanted{priority};
  return sched_setscheduler(tid, policy, &wanted) == 0;
}

bool may_have_priorities() {
  const bool may = set(0, SCHED_FIFO, 1) && set(0, SCHED_OTHER, 0);
  if (!may) causalctl::test::skip_test_case("no thread of ours may have SCHED_FIFO");
  return may;
}

// As many threads as there are cores, asleep.
struct Sleepers {
  explicit Sleepers(int policy = SCHED_OTHER, int priority = 0) { all(policy, priority); }
  void all(int policy, int priority) const {
    for (const Tid tid : procfs::threads(target.pid())) REQUIRE(set(tid, policy, priority));
  }
  TargetProcess target{
      {program("target_waits"), "crowd", std::to_string(tracee::usable_cores(getpid()).size())}};
};

TEST_CASE("causalctl runs just above its target, and as before afterwards", "[session]") {
  if (!may_have_priorities()) return;
  const int policy = GENERATE(SCHED_FIFO, SCHED_RR);
  const Sleepers sleepers(policy, 10);
  Precedence precedence(sleepers.target.pid());
  CHECK(policy_now() == SCHED_OTHER);
  precedence.begin();
  CHECK(policy_now() == SCHED_FIFO);
  CHECK(priority_now() == 11);
  int started = -1;
  std::thread([&started] { started = policy_now(); }).join();
  CHECK(started == SCHED_OTHER);
  precedence.end();
  CHECK(policy_now() == SCHED_OTHER);
}

TEST_CASE("causalctl has the lowest priority beside ordinary threads", "[session]") {
  if (!may_have_priorities()) return;
  const Sleepers sleepers;
  Precedence precedence(sleepers.target.pid());
  precedence.begin();
  CHECK(priority_now() == 1);
}

TEST_CASE("causalctl follows threads that get a higher priority", "[session]") {
  if (!may_have_priorities()) return;
  const Sleepers sleepers;
  Precedence precedence(sleepers.target.pid());
  precedence.begin();
  sleepers.all(SCHED_FIFO, 20);
  CHECK(eventually(3 * kSecond, [&] { return precedence.lost().empty() && priority_now() == 21; }));
  sleepers.all(SCHED_FIFO, 99);
  CHECK(eventually(3 * kSecond, [&] { return !precedence.lost().empty(); }));
  CHECK_THAT(precedence.lost(), Contains("no priority is above"));
}

TEST_CASE("a thread that does not sleep loses its priority", "[session]") {
  if (!may_have_priorities()) return;
  const Sleepers sleepers;
  Precedence precedence(sleepers.target.pid());
  precedence.begin();
  REQUIRE(policy_now() == SCHED_FIFO);
  const Nanoseconds until_ns = monotonic_now() + 10 * kSecond;
  while (policy_now() == SCHED_FIFO && monotonic_now() < until_ns) continue;
  CHECK(policy_now() == SCHED_OTHER);
  CHECK(tracee::raise_to(gettid(), 1));  // as the guardian does
  CHECK(policy_now() == SCHED_FIFO);
  precedence.end();
  CHECK(sched_getscheduler(0) == SCHED_OTHER);
  CHECK_FALSE(tracee::raise_to(gettid(), 1));
}

TEST_CASE("a target that cannot be outranked is refused", "[session]") {
  if (!may_have_priorities()) return;
  const Sleepers sleepers(SCHED_RR, 99);
  CHECK_THROWS_WITH(Precedence(sleepers.target.pid()), Contains("no priority is above"));
  sleepers.all(SCHED_RR, 30);
  // By a user who may have no priority. It is the process that asks that matters.
  const Pid child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_RTPRIO, &none) != 0 || setuid(65534) != 0) _exit(3);
    try {
      const Precedence precedence(sleepers.target.pid());
      _exit(1);
    } catch (const Error& error) {
      _exit(std::string(error.what()).find("may not run at priority 31") == std::string::npos);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace causalctl::session

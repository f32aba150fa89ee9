// Tests threads that run on the small stacks of coroutines.
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/pause/stack_room.h"
#include "controller/tracee/guardian/guardian.h"
#include "tests/kernel/pause/child_process.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::pause {
namespace {

using tracee::test::eventually;
using tracee::test::program;
using tracee::test::TargetProcess;

constexpr std::size_t kThreads = 3;  // includes the main thread, which waits
constexpr std::uint64_t kPauses = 1000;
constexpr Nanoseconds kLittleDebt = 100 * kMicrosecond;
constexpr Nanoseconds kLimit = 60 * kSecond;

// Asks all threads to pause as often as they can, until there are kPauses of them and, if
// `until_told`, a notice. (A thread whose shot is suppressed a few times in a row goes on by
// ptrace; on a busy machine it may be long until that happens.)
void pause_often(TargetProcess& target, SigtrapChannel& channel, bool until_told) {
  for (const Tid tid : procfs::threads(target.pid())) channel.add_thread(tid);
  Patience patience(kLimit);
  const auto is_enough = [&] {
    return channel.totals().pauses >= kPauses && !(until_told && channel.notices().empty());
  };
  while (!is_enough() && !target.ended() && !patience.over()) {
    for (const Tid tid : procfs::threads(target.pid())) {
      if (tid == target.pid() || channel.pausing(tid)) continue;
      channel.set_debt(tid, kLittleDebt, monotonic_now());
    }
    sleep_until(monotonic_now() + kMillisecond);
    (void)channel.collect(monotonic_now());
  }
}

}  // namespace

TEST_CASE("a thread on a stack without room is not shot", "[pause]") {
  const std::string kind = GENERATE("mapped", "heap");
  const std::string bytes = "2048";
  const std::string home_us = GENERATE("0", "300");
  CAPTURE(kind, bytes, home_us);
  TargetProcess target({program("coroutines"), "--stack", bytes, "--kind", kind, "--home-us",
                        home_us, "--fiber-us", "100"});
  REQUIRE(eventually(kSecond, [&] { return procfs::threads(target.pid()).size() == kThreads; }));
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  const tracee::Injection injection = guardian.inject(8);
  std::string reason;
  if (!ShotFilter::make(injection.code, reason)) {
    WARN("not tried: " << reason);
    return;
  }
  {
    SigtrapChannel channel(target.pid(), guardian, injection, {});
    pause_often(target, channel, home_us == "0");
    CHECK(channel.totals().pauses >= kPauses);
    if (home_us == "0") CHECK_FALSE(channel.notices().empty());
  }
  CHECK(guardian.restore().empty());
  REQUIRE_FALSE(target.ended());
  kill(target.pid(), SIGTERM);
  CHECK(target.wait() == 0);
}

TEST_CASE("where nothing suppresses shots, a sample on another stack ends them", "[pause]") {
  setenv("CAUSALCTL_PRETEND_BROKEN", "bpf", 1);
  const test::ChildProcess target;
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  SigtrapChannel channel(target.pid(), guardian, guardian.inject(4), {});
  unsetenv("CAUSALCTL_PRETEND_BROKEN");
  channel.add_thread(target.pid());
  channel.set_debt(target.pid(), test::kDebt, monotonic_now());
  CHECK_FALSE(channel.pausing(target.pid()));  // nothing is known of its stack
  test::see_on_own_stack(channel, target.pid());
  CHECK(channel.notices().empty());
  channel.sampled(target.pid(), own_stack(target.pid(), target.pid(), 0)->low - 1);
  CHECK(channel.notices().size() == 1);
  REQUIRE(eventually(test::kPatience, [&] {
    if (!channel.pausing(target.pid())) {
      channel.set_debt(target.pid(), test::kDebt, monotonic_now());
    }
    (void)channel.collect(monotonic_now());
    return channel.totals().pauses >= 3;
  }));
  CHECK(target.alive());
}

}  // namespace causalctl::pause

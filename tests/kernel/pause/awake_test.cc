// Tests pauses that spin instead of sleeping (rule 13 of docs/virtual-time.md), on one thread.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <ctime>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/guardian/guardian.h"
#include "tests/kernel/pause/child_process.h"

namespace causalctl::pause {
namespace {

using test::ChildProcess;
using test::kPatience;
using test::kStanding;
using test::stand;

struct Calls {
  std::atomic<int> made;
  std::atomic<int> disturbed;
};

Calls* calls() {  // shared with the child
  static auto* const shared = static_cast<Calls*>(
      mmap(nullptr, sizeof(Calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return shared;
}

// Computes for 3 ms and sleeps for 1, again and again.
void sleep_in_between() {
  for (;;) {
    const Nanoseconds until_ns = monotonic_now() + 3 * kMillisecond;
    while (monotonic_now() < until_ns) {
    }
    const timespec length{0, kMillisecond};
    const Nanoseconds before_ns = monotonic_now();
    const bool right = nanosleep(&length, nullptr) == 0;
    ++calls()->made;
    if (!right || monotonic_now() - before_ns < kMillisecond) ++calls()->disturbed;
  }
}

Nanoseconds cpu_used(const ChildProcess& target) {
  return procfs::cpu_time(target.pid(), target.pid()).value();
}

// A thread that stands in the stub, and the way in which it is paused.
struct Standing {
  explicit Standing(bool awake, int policy = SCHED_OTHER) {
    const sched_param parameters{.sched_priority = policy == SCHED_OTHER ? 0 : 1};
    REQUIRE(sched_setscheduler(target.pid(), policy, &parameters) == 0);
    guardian.adopt(target.pid());
    channel.emplace(target.pid(), guardian, guardian.inject(4), PauserOptions{});
    channel->stand_awake(awake);
    channel->add_thread(target.pid());
    begun_ns = monotonic_now();
    REQUIRE(stand(*channel, target.pid()));
  }

  // Returns its share of a core for the coming `for_ns`, during which it stands.
  double cpu_share(Nanoseconds for_ns) const {
    const Nanoseconds from_ns = monotonic_now();
    const Nanoseconds before_ns = cpu_used(target);
    sleep_until(from_ns + for_ns);
    return static_cast<double>(cpu_used(target) - before_ns) /
           static_cast<double>(monotonic_now() - from_ns);
  }
  Paid ended() {
    Patience patience(kPatience);
    while (!patience.over()) {
      const auto paid = channel->collect(monotonic_now());
      if (!paid.empty()) return paid.front();
      sleep_until(monotonic_now() + kMillisecond / 4);
    }
    FAIL("the pause does not end");
    return {};
  }

  ChildProcess target;
  tracee::Guardian guardian;
  std::optional<SigtrapChannel> channel;
  Nanoseconds begun_ns = 0;
};

}  // namespace

// A spinning thread has part of a core even beside other work on the machine; a sleeping one has
// none.
TEST_CASE("a pause that is awake uses CPU time, and ends when it is paid", "[pause]") {
  const bool awake = GENERATE(true, false);
  Standing pause(awake);
  const double share = pause.cpu_share(50 * kMillisecond);
  CAPTURE(awake, share);
  if (awake) CHECK(share > 0.1);
  if (!awake) CHECK(share < 0.05);
  const Paid paid = pause.ended();
  CHECK(paid.awake == awake);
  CHECK(paid.end_ns - paid.start_ns >= PauserOptions{}.longest_ns);
  CHECK(paid.end_ns - paid.start_ns < PauserOptions{}.longest_ns + 100 * kMillisecond);
  CHECK(pause.target.alive());
}

TEST_CASE("a pause that is awake ends at once when its thread owes nothing more", "[pause]") {
  Standing pause(true);
  const Nanoseconds forgiven_ns = monotonic_now();
  pause.channel->set_debt(pause.target.pid(), 0, forgiven_ns);
  const Paid paid = pause.ended();
  // It may wait for a core in between. Asleep, it would have stayed for all that it owed at first.
  CHECK(paid.end_ns - forgiven_ns < 40 * kMillisecond);
  CHECK(paid.end_ns - paid.start_ns < PauserOptions{}.longest_ns);
}

TEST_CASE("a real-time thread sleeps in its pause, whatever is asked", "[pause]") {
  const int policy = GENERATE(SCHED_FIFO, SCHED_RR);
  Standing pause(true, policy);
  CHECK(pause.cpu_share(30 * kMillisecond) < 0.05);
  CHECK_FALSE(pause.ended().awake);
}

TEST_CASE("pauses that are awake disturb no call", "[pause]") {
  new (calls()) Calls{};
  const ChildProcess target(sleep_in_between);
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  SigtrapChannel channel(target.pid(), guardian, guardian.inject(4), {});
  channel.stand_awake(true);
  channel.add_thread(target.pid());
  Patience patience(4 * kPatience);
  while (channel.totals().pauses < 50 && !patience.over()) {
    if (!channel.pausing(target.pid())) {
      channel.set_debt(target.pid(), 2 * kMillisecond, monotonic_now());
    }
    sleep_until(monotonic_now() + kMillisecond / 2);
    (void)channel.collect(monotonic_now());
  }
  CHECK(channel.totals().pauses >= 50);
  CHECK(calls()->made > 0);
  CHECK(calls()->disturbed == 0);
  CHECK(target.alive());
}

}  // namespace causalctl::pause

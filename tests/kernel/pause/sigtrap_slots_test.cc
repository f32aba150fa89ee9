// Tests the sigtrap channel when the target's memory is not as the stub has left it.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <limits>
#include <span>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/pause/shot_filter.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/tracee/guardian/guardian.h"
#include "controller/tracee/inject/slot.h"
#include "controller/tracee/process.h"
#include "tests/kernel/pause/child_process.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::pause {
namespace {

using test::ChildProcess;
using test::kDebt;
using test::kPatience;
using test::kStanding;
using test::see_on_own_stack;
using test::stand;
using test::wait_for_sigusr1;
using tracee::test::eventually;
using tracee::test::handles;

// After SIGUSR1 it executes a program that keeps working.
void execute_another() {
  wait_for_sigusr1();
  const auto busy = tracee::test::program("target_waits");
  execl(busy.c_str(), busy.c_str(), "busy", "1", nullptr);
  _exit(127);
}

// Acts as for an ordinary user, who has no filter on shots, so that /proc is read.
class WithoutBpf {
 public:
  WithoutBpf() {
    if (syscall(SYS_capget, &header_, before_) != 0) throw Error("capget");
    std::array<__user_cap_data_struct, 2> fewer = {before_[0], before_[1]};
    for (const int capability : {CAP_BPF, CAP_SYS_ADMIN}) {
      fewer[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
    }
    if (syscall(SYS_capset, &header_, fewer.data()) != 0) throw Error("capset");
  }
  ~WithoutBpf() { syscall(SYS_capset, &header_, before_); }
  WithoutBpf(const WithoutBpf&) = delete;
  WithoutBpf& operator=(const WithoutBpf&) = delete;

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2]{};
};

}  // namespace

// At that moment the record of the exec has not been read yet.
TEST_CASE("an exec is no change of the handler, and the new program is not paused", "[pause]") {
  const ChildProcess target(execute_another);
  REQUIRE(eventually(kPatience, [&] { return handles(target.pid(), SIGUSR1); }));
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  const tracee::Injection injection = guardian.inject(4);
  const WithoutBpf without;
  std::string reason;
  REQUIRE_FALSE(ShotFilter::make(injection.code, reason));
  SigtrapChannel channel(target.pid(), guardian, injection, {.longest_ns = kStanding});
  channel.add_thread(target.pid());
  see_on_own_stack(channel, target.pid());
  REQUIRE(stand(channel, target.pid()));
  REQUIRE(kill(target.pid(), SIGUSR1) == 0);
  REQUIRE(eventually(kPatience, [&] { return !handles(target.pid(), SIGTRAP); }));
  (void)channel.collect(monotonic_now());
  CHECK_FALSE(channel.pausing(target.pid()));
  channel.set_debt(target.pid(), kDebt, monotonic_now());
  CHECK_FALSE(channel.pausing(target.pid()));
  CHECK(channel.notices().empty());
  CHECK(channel.idle());
  CHECK(guardian.restore().empty());
  CHECK(target.alive());
}

// Its last pause ends after the last collect(), and the thread ends before the next.
TEST_CASE("what a thread has paid is not the next one's of its slot", "[pause]") {
  const ChildProcess target;
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  const tracee::Injection injection = guardian.inject(4);
  tracee::Slot slot;
  slot.paid_total_ns = kDebt;
  slot.entered = slot.left = 1;
  slot.entered_at_ns = monotonic_now() - kDebt;
  slot.left_at_ns = slot.entered_at_ns + kDebt;
  const auto put = [&] {
    REQUIRE(
        tracee::write_memory(target.pid(), injection.slots, std::as_bytes(std::span(&slot, 1))));
  };
  SECTION("which pays what it owes") {
    put();
    SigtrapChannel channel(target.pid(), guardian, injection, {.longest_ns = kStanding});
    channel.add_thread(target.pid());
    REQUIRE(stand(channel, target.pid()));
    const PauseTotals totals = channel.totals();  // the machine may have stalled for a pause
    CHECK((totals.pauses == 0 || totals.paid_ns >= kStanding));
    REQUIRE(eventually(kPatience, [&] { return !channel.collect(monotonic_now()).empty(); }));
    CHECK(channel.totals().paid_ns >= kStanding);
    CHECK(channel.notices().empty());
  }
  SECTION("but where no stub has written that, it is paused by ptrace") {
    slot.paid_total_ns = std::numeric_limits<std::int64_t>::max() - 1;
    put();
    SigtrapChannel channel(target.pid(), guardian, injection, {});
    channel.add_thread(target.pid());
    channel.set_debt(target.pid(), kDebt, monotonic_now());
    CHECK(eventually(kPatience, [&] { return !channel.collect(monotonic_now()).empty(); }));
    REQUIRE(channel.notices().size() == 1);
    CHECK_THAT(channel.notices()[0], Catch::Matchers::Contains("wrote to the slots"));
  }
}

TEST_CASE("a run that the stub has not written is not believed", "[pause]") {
  const ChildProcess target;
  tracee::Guardian guardian;
  guardian.adopt(target.pid());
  const tracee::Injection injection = guardian.inject(4);
  SigtrapChannel channel(target.pid(), guardian, injection, {.longest_ns = kStanding});
  channel.add_thread(target.pid());
  REQUIRE(stand(channel, target.pid()));
  const Nanoseconds paid_ns = channel.totals().paid_ns;
  tracee::Slot slot;
  slot.left = 7;
  slot.entered_at_ns = std::numeric_limits<std::int64_t>::min();
  slot.left_at_ns = slot.paid_total_ns = std::numeric_limits<std::int64_t>::max();
  REQUIRE(tracee::write_memory(target.pid(), injection.slots, std::as_bytes(std::span(&slot, 1))));
  CHECK(channel.collect(monotonic_now()).empty());
  CHECK(channel.totals().paid_ns == paid_ns);
  REQUIRE(channel.notices().size() == 1);
  CHECK_THAT(channel.notices()[0], Catch::Matchers::Contains("wrote to the slots"));
  slot = {};  // otherwise the guardian would wait for it to leave the stub
  slot.entered = 1;
  REQUIRE(tracee::write_memory(target.pid(), injection.slots, std::as_bytes(std::span(&slot, 1))));
}

}  // namespace causalctl::pause

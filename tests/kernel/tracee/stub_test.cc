// Tests the stub at work: a perf event with sigtrap, armed for one shot, makes a thread of the
// target sleep for what it owes.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <optional>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "controller/tracee/guardian/guardian.h"
#include "controller/tracee/inject/slot.h"
#include "controller/tracee/inject/stopped_thread.h"
#include "controller/tracee/process.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
namespace {

using test::eventually;
using test::program;
using test::TargetProcess;

Fd open_trap(Tid tid, Address slot) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = 50'000;  // pause::kShotPeriod
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.remove_on_exec = 1;
  attr.sigtrap = 1;
  attr.sig_data = slot;
  return Fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

// A busy target with the stub in it and a trap on its second thread.
class Trapped {
 public:
  explicit Trapped(const std::string& kind = "busy")
      : process_({program("target_waits"), kind, "1"}) {
    guardian_.emplace();
    guardian_->adopt(process_.pid());
    injection_ = guardian_->inject(4);
    tid_ = procfs::threads(process_.pid()).back();
    slot_at_ = injection_.slots + 2 * sizeof(Slot);
    trap_ = open_trap(tid_, slot_at_);
    if (!trap_) WARN("perf_event_open with sigtrap is not possible here: errno " << errno);
    REQUIRE(trap_);
  }

  Pid pid() const { return process_.pid(); }
  Tid tid() const { return tid_; }
  Slot slot() const { return read_object<Slot>(pid(), slot_at_).value(); }
  Guardian& guardian() { return *guardian_; }
  TargetProcess& process() { return process_; }
  const Injection& injection() const { return injection_; }
  void close_trap() { trap_.reset(); }

  void shoot(Nanoseconds owed_total_ns, Nanoseconds armed_at_ns,
             Nanoseconds stale_after_ns = 60 * kSecond) {  // the machine may stall
    Slot slot = this->slot();
    slot.owed_total_ns = owed_total_ns;
    slot.armed_at_ns = armed_at_ns;
    slot.stale_after_ns = stale_after_ns;
    constexpr std::size_t ours = offsetof(Slot, paid_total_ns);
    REQUIRE(write_memory(pid(), slot_at_, std::as_bytes(std::span(&slot, 1)).first(ours)));
    REQUIRE(ioctl(trap_.get(), PERF_EVENT_IOC_REFRESH, 1) == 0);
  }

  Slot after_runs(std::uint64_t runs) {
    REQUIRE(eventually(30 * kSecond, [&] { return slot().left == runs; }));
    return slot();
  }

 private:
  TargetProcess process_;
  std::optional<Guardian> guardian_;
  Injection injection_;
  Tid tid_ = 0;
  Address slot_at_ = 0;
  Fd trap_;
};

}  // namespace

TEST_CASE("the stub sleeps what is owed and says how long it was", "[tracee]") {
  Trapped target;
  constexpr Nanoseconds owed_ns = 10 * kMillisecond;
  const Nanoseconds armed_at_ns = monotonic_now();
  target.shoot(owed_ns, armed_at_ns);
  const Slot slot = target.after_runs(1);
  CHECK(slot.entered == 1);
  CHECK(slot.paid_total_ns >= owed_ns);
  CHECK(slot.paid_total_ns < owed_ns + 200 * kMillisecond);
  CHECK(slot.entered_at_ns >= armed_at_ns);
  CHECK(slot.left_at_ns - slot.entered_at_ns == slot.paid_total_ns);
  CHECK(slot.left_at_ns <= monotonic_now());
  CHECK(slot.owed_total_ns == owed_ns);
  WARN("owed 10 ms, paid " << slot.paid_total_ns / 1000 << " us, entered "
                           << (slot.entered_at_ns - armed_at_ns) / 1000 << " us after arming");
  SECTION("a second shot pays the difference") {
    target.shoot(slot.paid_total_ns + owed_ns, monotonic_now());
    const Slot again = target.after_runs(2);
    CHECK(again.paid_total_ns >= slot.paid_total_ns + owed_ns);
    CHECK(again.left_at_ns - again.entered_at_ns == again.paid_total_ns - slot.paid_total_ns);
  }
  SECTION("a shot that owes nothing sleeps nothing") {
    target.shoot(0, monotonic_now());
    const Slot again = target.after_runs(2);
    CHECK(again.paid_total_ns == slot.paid_total_ns);
    CHECK(again.left_at_ns == again.entered_at_ns);
  }
  CHECK_FALSE(target.process().ended());
}

TEST_CASE("a stale shot does nothing", "[tracee]") {
  Trapped target;
  target.shoot(50 * kMillisecond, monotonic_now() - kSecond, 100 * kMillisecond);
  const Slot slot = target.after_runs(1);
  CHECK(slot.entered == 1);
  CHECK(slot.paid_total_ns == 0);
  CHECK(slot.left_at_ns == slot.entered_at_ns);
}

TEST_CASE("the stub never stays longer than a second", "[tracee]") {
  Trapped target;
  Nanoseconds paid_ns = 0;
  for (std::uint64_t shot = 1; shot <= 3; ++shot) {  // the machine may stall in one of them
    const Nanoseconds before_ns = target.slot().paid_total_ns;
    target.shoot(before_ns + 3600 * kSecond, monotonic_now());
    paid_ns = target.after_runs(shot).paid_total_ns - before_ns;
    CHECK(paid_ns >= kSecond);
    if (paid_ns < 2 * kSecond) break;
  }
  CHECK(paid_ns < 2 * kSecond);
}

TEST_CASE("a stub that spins uses CPU time, stays within its second, and ends at once",
          "[tracee]") {
  Trapped target;
  constexpr Nanoseconds patient_ns = 60 * kSecond;
  const Nanoseconds before_ns = procfs::cpu_time(target.pid(), target.tid()).value();
  SECTION("within its second") {
    target.shoot(3600 * kSecond, monotonic_now(), patient_ns | kSpins);
    const Slot slot = target.after_runs(1);
    CHECK(slot.paid_total_ns >= kSecond);
    CHECK(slot.paid_total_ns < 2 * kSecond);
    CHECK(slot.left_at_ns - slot.entered_at_ns == slot.paid_total_ns);
    CHECK(procfs::cpu_time(target.pid(), target.tid()).value() - before_ns > kSecond / 10);
  }
  SECTION("at once, when nothing is owed any more") {
    target.shoot(900 * kMillisecond, monotonic_now(), patient_ns | kSpins);
    REQUIRE(eventually(30 * kSecond, [&] { return target.slot().entered == 1; }));
    const std::int64_t nothing_ns = 0;
    REQUIRE(write_memory(target.pid(), target.injection().slots + 2 * sizeof(Slot),
                         std::as_bytes(std::span(&nothing_ns, 1))));
    CHECK(target.after_runs(1).paid_total_ns < 500 * kMillisecond);
  }
  SECTION("a stale shot does nothing") {
    target.shoot(50 * kMillisecond, monotonic_now() - kSecond, (100 * kMillisecond) | kSpins);
    CHECK(target.after_runs(1).paid_total_ns == 0);
  }
  SECTION("restore sends it home, instead of waiting for what it owes") {
    target.shoot(900 * kMillisecond, monotonic_now(), patient_ns | kSpins);
    REQUIRE(eventually(30 * kSecond, [&] { return target.slot().entered == 1; }));
    target.close_trap();
    const Nanoseconds entered_at_ns = target.slot().entered_at_ns;
    CHECK(target.guardian().restore() == std::vector<std::string>{});
    CHECK(monotonic_now() < entered_at_ns + 800 * kMillisecond);
    CHECK_FALSE(target.process().ended());
  }
}

TEST_CASE("what is owed can be raised while the stub sleeps", "[tracee]") {
  Trapped target;
  target.shoot(500 * kMillisecond, monotonic_now());
  REQUIRE(eventually(30 * kSecond, [&] { return target.slot().entered == 1; }));
  const std::int64_t raised_ns = 700 * kMillisecond;
  REQUIRE(write_memory(target.pid(), target.injection().slots + 2 * sizeof(Slot),
                       std::as_bytes(std::span(&raised_ns, 1))));
  CHECK(target.after_runs(1).paid_total_ns >= raised_ns);
}

TEST_CASE("restore waits for a thread in the stub", "[tracee]") {
  Trapped target;
  target.shoot(300 * kMillisecond, monotonic_now());
  REQUIRE(eventually(30 * kSecond, [&] { return target.slot().entered == 1; }));
  target.close_trap();
  const Nanoseconds entered_at_ns = target.slot().entered_at_ns;
  CHECK(target.guardian().restore() == std::vector<std::string>{});
  CHECK(monotonic_now() >= entered_at_ns + 300 * kMillisecond);
  CHECK_FALSE(target.process().ended());
  CHECK_FALSE(read_object<Slot>(target.pid(), target.injection().slots).has_value());
  CHECK_FALSE(procfs::has_signal(procfs::status(target.pid())->signals_caught, SIGTRAP));
}

// There are more threads than cores, so some are preempted between the event and its signal.
TEST_CASE("restore right after shots at every thread", "[tracee]") {
  TargetProcess process({program("target_waits"), "busy", "8"});
  Guardian guardian;
  guardian.adopt(process.pid());
  const auto tids = procfs::threads(process.pid());
  for (int round = 0; round < 60; ++round) {
    const auto injection = guardian.inject(16);
    std::vector<Fd> traps;
    for (std::size_t i = 0; i < tids.size(); ++i) {
      const Address at = injection.slots + i * sizeof(Slot);
      const Slot slot{.owed_total_ns = kMillisecond / 10,
                      .armed_at_ns = monotonic_now(),
                      .stale_after_ns = kSecond};
      REQUIRE(write_memory(process.pid(), at, std::as_bytes(std::span(&slot, 1))));
      traps.push_back(open_trap(tids[i], at));
      REQUIRE(traps.back());
      REQUIRE(ioctl(traps.back().get(), PERF_EVENT_IOC_REFRESH, 1) == 0);
    }
    if (round % 2 == 0) sleep_until(monotonic_now() + round * 100 * kMicrosecond);
    traps.clear();
    REQUIRE(guardian.restore() == std::vector<std::string>{});
    REQUIRE_FALSE(process.ended());
  }
  CHECK(procfs::status(process.pid())->tracer_pid == 0);
}

TEST_CASE("a thread that blocks SIGTRAP keeps the shot until restore takes it away", "[tracee]") {
  Trapped target("masked");
  target.shoot(kMillisecond, monotonic_now());
  const auto pending = [&] {
    const auto status = procfs::thread_status(target.pid(), target.tid());
    return procfs::has_signal(status->signals_pending, SIGTRAP);
  };
  REQUIRE(eventually(2 * kSecond, pending));
  CHECK(target.slot().entered == 0);
  target.close_trap();
  CHECK(target.guardian().restore() == std::vector<std::string>{});
  CHECK_FALSE(pending());
  CHECK_FALSE(target.process().ended());
}

TEST_CASE("somebody else's SIGTRAP still ends the target as it would have", "[tracee]") {
  Trapped target;
  REQUIRE(kill(target.pid(), SIGTRAP) == 0);
  const int status = target.process().wait();
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTRAP);
}

TEST_CASE("somebody else's SIGTRAP still reaches the target's own handler", "[tracee]") {
  TargetProcess process({program("target_waits"), "handler", "1"});
  Guardian guardian;
  guardian.adopt(process.pid());
  int error_number = 0;
  try {
    guardian.inject(1);
  } catch (const Error& error) {
    error_number = error.error_number();
    CHECK_THAT(error.what(), Catch::Matchers::Contains("has a SIGTRAP handler of its own"));
  }
  CHECK(error_number == EBUSY);
  SECTION("while the stub was to be installed") {}
  SECTION("and afterwards") {
    CHECK(guardian.restore() == std::vector<std::string>{});
    // The thread sleeps, and nothing has stopped it. (The guardian continues from this process's
    // counts.)
    CHECK(guardian.stopped_calls().continued == stopped_calls().continued);
  }
  REQUIRE(kill(process.pid(), SIGTRAP) == 0);
  CHECK(process.wait() == 0);
  CHECK(process.output() == "handled\n");
}

}  // namespace causalctl::tracee

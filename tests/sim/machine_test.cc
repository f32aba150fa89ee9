// Tests properties of the simulated machine that later tests take for granted.
#include "tests/sim/machine.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <variant>
#include <vector>

#include "controller/base/error.h"
#include "controller/pause/sigtrap_channel.h"
#include "tests/sim/exact_machine.h"
#include "tests/sim/programs.h"
#include "tests/sim/sim_kernel.h"
#include "tests/sim/sim_pauser.h"
#include "tests/sim/sync.h"

using namespace causalctl;
using namespace causalctl::sim;

namespace {

struct Guarded {
  Mutex mutex;
  int inside = 0, most_inside = 0, entries = 0;
};

Task enter_often(Thread& self, Guarded* guarded) {
  for (;;) {
    co_await guarded->mutex.lock(self);
    guarded->most_inside = std::max(guarded->most_inside, ++guarded->inside);
    ++guarded->entries;
    co_await self.compute(1, 300 * kMicrosecond);
    --guarded->inside;
    guarded->mutex.unlock(self);
    co_await self.compute(2, 100 * kMicrosecond);
  }
}

struct Meeting {
  Barrier barrier{3};
  std::vector<Nanoseconds> left_at_ns;
};

Task meet_once(Thread& self, Meeting* meeting, Nanoseconds after_ns) {
  co_await self.compute(1, after_ns);
  co_await meeting->barrier.wait(self);
  meeting->left_at_ns.push_back(self.machine().now());
}

template <typename Kind>
std::vector<Kind> only(const std::vector<perf::Event>& events) {
  std::vector<Kind> found;
  for (const auto& event : events) {
    if (const auto* each = std::get_if<Kind>(&event)) found.push_back(*each);
  }
  return found;
}

}  // namespace

TEST_CASE("a lock excludes", "[sim]") {
  Guarded guarded;
  Machine machine(exact(4));
  for (int i = 0; i < 4; ++i) machine.spawn(enter_often, &guarded);
  machine.run_until(kSecond);
  CHECK(guarded.most_inside == 1);
  // Four threads that are outside of the lock for a third of the time inside leave no gap between
  // entries.
  CHECK(guarded.entries >= 3330);
  CHECK(guarded.entries <= 3334);
}

TEST_CASE("a barrier lets all go when the last one comes", "[sim]") {
  Meeting meeting;
  Machine machine(exact(4));
  for (const Nanoseconds ms : {1, 5, 3}) {
    machine.spawn(meet_once, &meeting, ms * kMillisecond);
  }
  machine.run_until(kSecond);
  CHECK(meeting.left_at_ns == std::vector<Nanoseconds>(3, 5 * kMillisecond));
  CHECK_FALSE(machine.alive());
}

TEST_CASE("a sample falls every period of CPU time and stands for it", "[sim]") {
  Machine machine(exact(1));
  machine.spawn(compute_for_ever);
  machine.spawn(compute_for_ever);
  machine.set_period(4 * kMillisecond);
  machine.watch();
  machine.enable_sampling(true);
  machine.run_until(4 * kSecond);
  const auto samples = only<perf::SampleEvent>(machine.take_events());
  Nanoseconds sum_ns = 0;
  std::map<Tid, Nanoseconds> period_ns;
  for (const auto& sample : samples) {
    sum_ns += sample.period_ns;
    const auto first = period_ns.emplace(sample.thread.tid, sample.period_ns).first;
    // Periods stay the same, because no jitter was asked for.
    CHECK(sample.period_ns == first->second);
    CHECK(sample.period_ns >= 3 * kMillisecond);
    CHECK(sample.period_ns <= 5 * kMillisecond);
    CHECK(sample.callers == std::vector<Address>{address_of(1)});
  }
  CHECK(period_ns.size() == 2);
  CHECK(std::abs(sum_ns - 4 * kSecond) < 10 * kMillisecond);
}

TEST_CASE("a jittered period is uniform around its mean", "[sim]") {
  Machine machine(exact(1));
  machine.spawn(compute_for_ever);
  machine.set_period(kMillisecond);
  machine.watch();
  machine.enable_sampling(true);
  double sum_ns = 0;
  int periods = 0;
  for (Nanoseconds at_ns = 0; at_ns < 60 * kSecond; at_ns += 50 * kMillisecond) {
    machine.run_until(at_ns);
    const auto samples = only<perf::SampleEvent>(machine.take_events());
    if (!samples.empty()) {
      sum_ns += static_cast<double>(samples.back().period_ns);
      ++periods;
    }
    machine.jitter();
  }
  // A period deviates by 0.5 ms / sqrt(12). The bound is four standard errors of the mean.
  CHECK(sum_ns / periods == Approx(1e6).margin(4 * 0.144e6 / std::sqrt(periods)));
}

TEST_CASE("a pause lasts for what is owed, and a raise prolongs it", "[sim]") {
  Machine machine(exact(2));
  Thread& thread = machine.spawn(compute_for_ever);
  machine.run_until(kSecond);
  SimPauser pauser(machine, {}, 0);
  pauser.add_thread(thread.id().tid);
  const Tid tid = thread.id().tid;

  pauser.set_debt(tid, 5 * kMillisecond, machine.now());
  machine.run_until(machine.now() + 2 * kMillisecond);
  CHECK(pauser.collect(machine.now()).empty());
  CHECK(pauser.standing(tid));
  pauser.set_debt(tid, 7 * kMillisecond, machine.now());
  machine.run_until(machine.now() + 20 * kMillisecond);
  const auto paid = pauser.collect(machine.now());
  REQUIRE(paid.size() == 1);
  CHECK(paid[0].start_ns == kSecond + pause::kShotPeriod);
  CHECK(paid[0].end_ns - paid[0].start_ns == 7 * kMillisecond);
  CHECK(thread.state() == State::running);
  CHECK(pauser.idle());
}

TEST_CASE("a thread that spins through its pause keeps its share of the cores", "[sim]") {
  Machine machine(exact(1, Sharing::fair));
  const Thread& thread = machine.spawn(compute_for_ever);
  const Thread& other = machine.spawn(compute_for_ever);
  machine.set_period(kMillisecond);
  machine.watch();
  machine.enable_sampling(true);
  machine.run_until(kSecond);
  pause::PauserOptions pausing;
  pausing.stale_after_ns = 10 * kMillisecond;  // it may have to wait for the core
  SimPauser pauser(machine, pausing, 0);
  pauser.add_thread(thread.id().tid);
  const bool awake = GENERATE(false, true);
  pauser.stand_awake(awake);
  pauser.set_debt(thread.id().tid, 80 * kMillisecond, machine.now());
  machine.run_until(machine.now() + 10 * kMillisecond);
  CHECK(pauser.collect(machine.now()).empty());
  REQUIRE(pauser.standing(thread.id().tid));
  CHECK((thread.state() == State::blocked) == !awake);
  machine.take_events();

  const Nanoseconds others_ns = other.cpu_ns();
  machine.run_until(machine.now() + 60 * kMillisecond);
  CHECK(std::abs(other.cpu_ns() - others_ns - (awake ? 30 : 60) * kMillisecond) <=
        2 * kMillisecond);
  std::size_t in_stub = 0;
  for (const auto& sample : only<perf::SampleEvent>(machine.take_events())) {
    if (sample.thread.tid == thread.id().tid)
      in_stub += sample.callers.front() == address_of(kStubLine);
  }
  CHECK(in_stub >= (awake ? 20 : 0));
}

TEST_CASE("a pause that spins does not compute, and sees at once that less is owed", "[sim]") {
  Machine machine(exact(1));
  const Thread& thread = machine.spawn([](Thread& self) -> Task {
    co_await self.compute(1, 20 * kMillisecond);
    self.visit(kProgressTag);
    co_await self.compute(1, kSecond);
  });
  SimPauser pauser(machine, {}, 0);
  pauser.add_thread(thread.id().tid);
  pauser.stand_awake(true);
  pauser.set_debt(thread.id().tid, 50 * kMillisecond, machine.now());
  machine.run_until(10'123 * kMicrosecond);
  REQUIRE(pauser.collect(machine.now()).empty());
  pauser.set_debt(thread.id().tid, 0, machine.now());
  machine.run_until(100 * kMillisecond);
  const auto paid = pauser.collect(machine.now());
  REQUIRE(paid.size() == 1);
  CHECK(paid[0].end_ns == 10'123 * kMicrosecond);
  CHECK(machine.visits(kProgressTag).last_ns ==
        20 * kMillisecond + paid[0].end_ns - paid[0].start_ns);
}

TEST_CASE("a shot on a blocked thread waits, and is void when it comes too late", "[sim]") {
  Meeting meeting;
  Machine machine(exact(2));
  Thread& thread = machine.spawn(
      [](Thread& self, Nanoseconds io_ns) -> Task {
        co_await self.device_io(io_ns);
        co_await self.compute(1, kMillisecond);
      },
      10 * kMillisecond);
  machine.run_until(kMillisecond);
  CHECK(thread.state() == State::blocked);
  SimPauser pauser(machine, {}, 0);
  pauser.add_thread(thread.id().tid);
  pauser.set_debt(thread.id().tid, 5 * kMillisecond, machine.now());
  machine.run_until(9 * kMillisecond);
  CHECK(pauser.collect(machine.now()).empty());
  machine.run_until(10 * kMillisecond + 500 * kMicrosecond);
  const auto paid = pauser.collect(machine.now());
  REQUIRE(paid.size() == 1);
  CHECK(paid[0].end_ns == paid[0].start_ns);
  CHECK(pauser.totals().stale == 1);
}

TEST_CASE("wake-ups name the waker, devices name nobody", "[sim]") {
  const auto wakes_of = [](const Program& program) {
    Machine machine(exact(2));
    const auto shared = program(machine);
    machine.watch();
    machine.run_until(kSecond);
    return only<perf::WakeEvent>(machine.take_events());
  };
  const auto met = wakes_of(barrier({2, 1}));
  CHECK(met.size() >= 499);
  for (const auto& wake : met) {
    CHECK(wake.context == perf::WakeContext::task);
    CHECK(wake.waker.tid == kFirstTid);  // the slower thread arrives last, and wakes the other
    CHECK(wake.woken == kFirstTid + 1);
  }
  for (const auto& wake : wakes_of(io_wait(1, 1, 1))) {
    CHECK(wake.context == perf::WakeContext::hardirq);
  }
}

TEST_CASE("the controller's time is taken from the thread on its core", "[sim]") {
  Machine machine(exact(1));
  Thread& thread = machine.spawn(compute_for_ever);
  SimClock clock(machine, {0, 0}, kMillisecond, 1);
  for (int tick = 1; tick <= 100; ++tick) clock.sleep_until(tick * 10 * kMillisecond);
  machine.run_until(1010 * kMillisecond);
  CHECK(std::abs(thread.cpu_ns() - 910 * kMillisecond) <= kMillisecond);
}

TEST_CASE("events come in order and are the same again", "[sim]") {
  const auto times_of = [](std::uint64_t seed) {
    MachineOptions options;
    options.cores = 2;
    options.seed = seed;
    Machine machine(options);
    const auto shared = pool_of(8, 1, 1, 0.2)(machine);
    machine.watch();
    machine.set_period(kMillisecond);
    machine.enable_sampling(true);
    machine.run_until(kSecond);
    std::vector<Nanoseconds> times;
    for (const auto& event : machine.take_events()) times.push_back(perf::time_of(event));
    return times;
  };
  const auto times = times_of(1);
  CHECK(times.size() > 3000);
  CHECK(std::is_sorted(times.begin(), times.end()));
  CHECK(times == times_of(1));
  CHECK(times != times_of(2));
}

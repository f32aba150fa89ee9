// Tests how the simulated machine shares out its cores.
#include "tests/sim/scheduler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <variant>
#include <vector>

#include "controller/perf/events.h"
#include "tests/sim/exact_machine.h"
#include "tests/sim/programs.h"

using namespace causalctl;
using namespace causalctl::sim;

namespace {

Task sleep_and_compute(Thread& self, Nanoseconds compute_ns, Nanoseconds sleep_ns) {
  if (compute_ns > 0) co_await self.compute(1, compute_ns);
  co_await self.device_io(sleep_ns);
  for (;;) co_await self.compute(1, kMillisecond);
}

Task wake_often(Thread& self, std::vector<Nanoseconds>* late_ns) {
  for (;;) {
    const Nanoseconds due_ns = self.machine().now() + 20 * kMillisecond + 100 * kMicrosecond;
    co_await self.device_io(20 * kMillisecond);
    co_await self.compute(1, 100 * kMicrosecond);
    late_ns->push_back(self.machine().now() - due_ns);
  }
}

Task compute_and_end(Thread& self, Nanoseconds compute_ns, Nanoseconds* end_ns) {
  co_await self.compute(1, compute_ns);
  *end_ns = self.machine().now();
}

}  // namespace

TEST_CASE("time slices share the cores", "[sim]") {
  Machine machine(exact(2));
  std::vector<Thread*> threads;
  for (int i = 0; i < 5; ++i) threads.push_back(&machine.spawn(compute_for_ever));
  machine.run_until(3 * kSecond);
  Nanoseconds sum_ns = 0;
  for (const Thread* thread : threads) {
    sum_ns += thread->cpu_ns();
    CHECK(std::abs(thread->cpu_ns() - 1200 * kMillisecond) <=
          2 * machine.options().scheduling.slice_ns);
  }
  CHECK(std::abs(sum_ns - 6 * kSecond) <=
        2 * kMillisecond);  // the time on its present core is not counted yet
}

TEST_CASE("fair sharing gives each thread the CPU time of its weight", "[sim]") {
  const MachineOptions options = exact(1, GENERATE(Sharing::fair, Sharing::per_core));
  Machine machine(options);
  const Thread& light = machine.spawn(compute_for_ever);
  Thread& heavy = machine.spawn(compute_for_ever);
  machine.set_weight(heavy, 3);
  machine.run_until(4 * kSecond);
  CHECK(std::abs(light.cpu_ns() - kSecond) <= 2 * options.scheduling.slice_ns);
  CHECK(std::abs(heavy.cpu_ns() - 3 * kSecond) <= 2 * options.scheduling.slice_ns);
}

TEST_CASE("fair sharing owes a thread nothing for the time that it slept", "[sim]") {
  const MachineOptions options = exact(1, GENERATE(Sharing::fair, Sharing::per_core));
  Machine machine(options);
  const Thread& late = machine.spawn(sleep_and_compute, Nanoseconds{0}, kSecond);
  SECTION("while another one ran") {
    machine.spawn(compute_for_ever);
    machine.run_until(2 * kSecond);
    CHECK(std::abs(late.cpu_ns() - kSecond / 2) <= 2 * options.scheduling.slice_ns);
  }
  SECTION("while another one ran that sleeps by now") {
    const Thread& first = machine.spawn(sleep_and_compute, 900 * kMillisecond, 200 * kMillisecond);
    machine.run_until(2100 * kMillisecond);  // both are runnable for 1 s of it
    CHECK(std::abs(first.cpu_ns() - 1400 * kMillisecond) <= 2 * options.scheduling.slice_ns);
  }
}

TEST_CASE("a thread that wakes up preempts one that is too far ahead of it", "[sim]") {
  MachineOptions options = exact(1, Sharing::fair);
  options.scheduling.sleeper_ns = GENERATE(0, 2 * kMillisecond);
  Machine machine(options);
  machine.spawn(compute_for_ever);
  std::vector<Nanoseconds> late_ns;
  machine.spawn(wake_often, &late_ns);
  machine.run_until(kSecond);
  REQUIRE(late_ns.size() > 40);
  const Nanoseconds latest_ns = *std::max_element(late_ns.begin(), late_ns.end());
  // Otherwise it would wait for the end of the other thread's seventh slice.
  const bool preempts = options.scheduling.sleeper_ns > options.scheduling.granularity_ns;
  CHECK(latest_ns == (preempts ? 0 : 7 * options.scheduling.slice_ns - 20 * kMillisecond));
}

TEST_CASE("a woken thread comes to an idle core, to its last one if it can", "[sim]") {
  Machine machine(exact(3, Sharing::per_core));
  const Thread& thread = machine.spawn(sleep_and_compute, Nanoseconds{0}, 10 * kMillisecond);
  machine.run_until(kMillisecond);
  const bool taken = GENERATE(false, true);
  if (taken) machine.spawn(compute_for_ever);
  machine.run_until(11 * kMillisecond);
  CHECK(thread.state() == State::running);
  CHECK(thread.core() == (taken ? 1 : 0));
}

TEST_CASE("a woken thread comes to its waker's core if its last one is loaded more", "[sim]") {
  Machine machine(exact(2, Sharing::per_core));
  Thread& thread = machine.spawn([](Thread& self) -> Task {
    co_await self.block();
    for (;;) co_await self.compute(1, kMillisecond);
  });
  machine.run_until(0);
  const auto [weight, core] = GENERATE(std::pair{0, 0U}, std::pair{1, 0U}, std::pair{3, 1U});
  Nanoseconds end_ns = 0;
  if (weight > 0) machine.set_weight(machine.spawn(compute_for_ever), weight);
  if (weight == 0) machine.spawn(compute_and_end, 2 * kMillisecond, &end_ns);
  machine.spawn(
      [](Thread& self, Thread* woken) -> Task {
        co_await self.compute(1, 5 * kMillisecond);
        self.machine().wake(*woken);
        for (;;) co_await self.compute(1, kMillisecond);
      },
      &thread);
  machine.run_until(20 * kMillisecond);
  CHECK(thread.cpu_ns() > 0);
  CHECK(thread.core() == core);
}

TEST_CASE("a core whose thread ends pulls one from another core's queue", "[sim]") {
  Machine machine(exact(2, Sharing::per_core));
  Nanoseconds end_ns[3] = {};
  machine.spawn(compute_and_end, 40 * kMillisecond, &end_ns[0]);
  machine.spawn(compute_and_end, 10 * kMillisecond, &end_ns[1]);
  machine.spawn(compute_and_end, 40 * kMillisecond, &end_ns[2]);
  machine.run_until(kSecond);
  CHECK(end_ns[1] == 10 * kMillisecond);  // by then the other two have had 10 ms as well
  CHECK(end_ns[0] + end_ns[2] == 90 * kMillisecond);
}

TEST_CASE("a core that becomes idle leaves alone a thread that was just running", "[sim]") {
  MachineOptions options = exact(2, Sharing::per_core);
  options.scheduling.migration_cost_ns = 10 * kMillisecond;
  Machine machine(options);
  Nanoseconds end_ns[3] = {};
  machine.spawn(compute_and_end, 40 * kMillisecond, &end_ns[0]);
  machine.spawn(compute_and_end, 10 * kMillisecond, &end_ns[1]);
  machine.spawn(compute_and_end, 40 * kMillisecond, &end_ns[2]);
  machine.run_until(kSecond);
  CHECK(end_ns[0] + end_ns[2] > 150 * kMillisecond);
}

TEST_CASE("three threads take slow turns on the queues of two cores", "[sim]") {
  Machine machine(exact(2, Sharing::per_core));
  std::vector<Thread*> threads;
  for (int i = 0; i < 3; ++i) threads.push_back(&machine.spawn(compute_for_ever));
  unsigned moves = 0;
  std::vector<std::uint32_t> cores(3, 0);
  for (Nanoseconds at_ns = 0; at_ns <= 12 * kSecond; at_ns += kMillisecond) {
    machine.run_until(at_ns);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      moves += std::exchange(cores[i], threads[i]->core()) != threads[i]->core();
    }
  }
  // Every 32 ms the core with one thread finds that half a thread more is too much for it, and
  // takes one the next time. One core of the two looks once more at the time of a move, so it is
  // one move ahead.
  CHECK(std::abs(static_cast<int>(moves) - 12'000 / 48) <= 2);
  for (const Thread* thread : threads) {
    CHECK(std::abs(thread->cpu_ns() - 8 * kSecond) <= 160 * kMillisecond);
  }
}

TEST_CASE("a thread that is owed CPU time preempts as soon as it wakes up", "[sim]") {
  const MachineOptions options = exact(1, Sharing::per_core);
  Machine machine(options);
  std::vector<Nanoseconds> late_ns;
  machine.spawn(wake_often, &late_ns);
  machine.spawn(compute_for_ever);
  machine.run_until(450 * kMillisecond);
  REQUIRE(late_ns.size() > 20);
  // It is owed nothing at first, so it waits for the end of the other thread's slice, the eighth
  // after the first half. From then on it is owed half of that wait.
  const Nanoseconds first_ns = 15 * options.scheduling.slice_ns / 2 - 20 * kMillisecond;
  CHECK(std::abs(late_ns.front() - first_ns) <= kMicrosecond);
  CHECK(*std::max_element(late_ns.begin() + 1, late_ns.begin() + 20) == 0);
}

TEST_CASE("a thread that has had too much sleeps in its queue, and wakes up there", "[sim]") {
  Machine machine(exact(2, Sharing::per_core));
  const auto [sleep_us, core] = GENERATE(std::pair{200, 0U}, std::pair{5000, 1U});
  Nanoseconds end_ns = 0;
  const Thread& thread =
      machine.spawn(sleep_and_compute, 2 * kMillisecond, sleep_us * kMicrosecond);
  machine.spawn(compute_and_end, 3600 * kMicrosecond, &end_ns);
  machine.spawn(compute_for_ever);
  // It has run half a slice, as has the last thread, and half a millisecond more.
  machine.run_until(3500 * kMicrosecond);
  CHECK(thread.cpu_ns() == 2 * kMillisecond);
  CHECK(thread.state() == State::blocked);
  machine.run_until(3500 * kMicrosecond + sleep_us * kMicrosecond + 100 * kMicrosecond);
  CHECK(end_ns == 3600 * kMicrosecond);  // which leaves the second core idle
  CHECK(thread.core() == core);
  CHECK((thread.state() == State::running) == (core == 1));
}

TEST_CASE("threads that have used up their quota stop until the next period", "[sim]") {
  MachineOptions options =
      exact(2, GENERATE(Sharing::first_come, Sharing::fair, Sharing::per_core));
  options.quota_ns = 50 * kMillisecond;
  Machine machine(options);
  const Thread& first = machine.spawn(compute_for_ever);
  const Thread& second = machine.spawn(compute_for_ever);
  const auto used_ns = [&] { return first.cpu_ns() + second.cpu_ns(); };
  machine.run_until(25 * kMillisecond);
  CHECK(used_ns() == 50 * kMillisecond);
  machine.run_until(99 * kMillisecond);
  CHECK(used_ns() == 50 * kMillisecond);
  CHECK(first.state() == State::runnable);
  machine.run_until(10 * kSecond - 1);
  CHECK(used_ns() == 5 * kSecond);
  CHECK(machine.idle_ns() == 15 * kSecond - 2);
}

TEST_CASE("a quota stops its threads in queues, and those that wake up, and no others", "[sim]") {
  MachineOptions options =
      exact(1, GENERATE(Sharing::first_come, Sharing::fair, Sharing::per_core));
  options.quota_ns = 20 * kMillisecond;
  Machine machine(options);
  const Thread& first = machine.spawn(compute_for_ever);
  const Thread& second = machine.spawn(compute_for_ever);
  const Thread& late = machine.spawn(sleep_and_compute, Nanoseconds{0}, 70 * kMillisecond);
  const Thread& other = machine.spawn_foreign(false, compute_for_ever);
  const bool limited = GENERATE(false, true);
  if (limited) machine.limit(machine.spawn_foreign(false, compute_for_ever));
  machine.run_until(99 * kMillisecond);
  const Nanoseconds own_ns = first.cpu_ns() + second.cpu_ns();
  CHECK(late.cpu_ns() == 0);
  CHECK(late.state() == State::runnable);
  if (!limited) CHECK(own_ns == 20 * kMillisecond);
  if (limited) CHECK(std::abs(own_ns - 14 * kMillisecond) <= 3 * kMillisecond);
  CHECK(std::abs(other.cpu_ns() - 79 * kMillisecond) <= kMillisecond);
  machine.run_until(199 * kMillisecond);
  CHECK(late.cpu_ns() >= options.scheduling.slice_ns);  // it had its turn at least once
}

TEST_CASE("what is stopped by a quota looks preempted", "[sim]") {
  MachineOptions options = exact(1);
  options.quota_ns = 20 * kMillisecond;
  Machine machine(options);
  machine.spawn(compute_for_ever);
  machine.watch();
  machine.run_until(150 * kMillisecond);
  const auto events = machine.take_events();
  std::vector<perf::SwitchEvent> switches;
  for (const auto& event : events) {
    if (const auto* each = std::get_if<perf::SwitchEvent>(&event)) switches.push_back(*each);
  }
  REQUIRE(switches.size() == 3);
  CHECK(switches[0].kind == perf::SwitchKind::out_preempted);
  CHECK(switches[0].time_ns == 20 * kMillisecond);
  CHECK(switches[1].kind == perf::SwitchKind::in);
  CHECK(switches[1].time_ns == 100 * kMillisecond);
  CHECK(switches[2].time_ns == 120 * kMillisecond);
}

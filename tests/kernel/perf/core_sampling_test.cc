#include "controller/perf/core_sampling.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>
#include <utility>

#include "controller/base/clock.h"
#include "tests/kernel/perf/child.h"
#include "tests/support/skip.h"

namespace causalctl::perf::test {
namespace {

bool cores_can_be_sampled() {
  const auto why_not = why_no_core_sampling();
  if (!why_not) return true;
  causalctl::test::skip_test_case("cores cannot be sampled here: " + *why_not);
  return false;
}

}  // namespace

TEST_CASE("Samples of other processes are dropped in the kernel", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Child other([] { spin_for(10 * kSecond); });
  Child child([] { spin_for(10 * kSecond); });
  child.go();
  other.go();
  CoreSampling cores(child.pid(), {.period_ns = 500 * kMicrosecond, .stack_bytes = 256}, 1);
  cores.enable(true);
  int own = 0, foreign = 0;
  const Nanoseconds end_ns = monotonic_now() + 300 * kMillisecond;
  while (monotonic_now() < end_ns) {
    const auto use = [&](const SampleRecord& sample, Nanoseconds) {
      ++(sample.common.pid == child.pid() ? own : foreign);
    };
    cores.read(use, [](const Record&) {});
    sleep_until(monotonic_now() + kMillisecond);
  }
  CHECK(own > 50);
  CHECK(foreign == 0);
}

TEST_CASE("The clocks of cores sample the threads of one process", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Child other([] { spin_for(10 * kSecond); });
  Child child([] {
    std::thread(spin_for, 10 * kSecond).detach();
    spin_for(10 * kSecond);
  });
  child.go();
  other.go();
  while (cpu_time_of(child.pid()) < 5 * kMillisecond) sleep_until(monotonic_now() + kMillisecond);
  Session session(child.pid(), {.period_ns = 500 * kMicrosecond,
                                .call_chain_depth = 0,
                                .stack_bytes = 1024,
                                .leaving = true,
                                .by_core = true});
  const Nanoseconds before_ns = cpu_time_of(child.pid());
  session.start();
  std::vector<Event> events;
  drain_until(
      session, events, [](const auto&) { return false; }, 500 * kMillisecond);
  const Nanoseconds ran_ns = cpu_time_of(child.pid()) - before_ns;
  std::set<ThreadId> sampled;
  Nanoseconds sampled_ns = 0;
  for (const auto& sample : only<SampleEvent>(events)) {
    if (sample.reason != SampleReason::cpu_time) continue;
    sampled.insert(sample.thread);
    sampled_ns += sample.period_ns;
    REQUIRE(sample.user.registers.size() == 20);
    if (!sample.in_kernel) CHECK(sample.user.registers[8] == sample.callers.at(0));
    CHECK_FALSE(sample.user.stack.empty());
  }
  const auto threads = session.threads();
  CHECK(sampled == std::set<ThreadId>(threads.begin(), threads.end()));
  CHECK(sampled.size() == 2);
  // Ticks that come late when the machine stalls are one sample.
  CHECK(static_cast<double>(sampled_ns) > 0.7 * static_cast<double>(ran_ns));
  CHECK(static_cast<double>(sampled_ns) < 1.3 * static_cast<double>(ran_ns));
  CHECK(session.losses().records_lost == 0);

  session.enable_sampling(false);
  drain_until(
      session, events, [](const auto&) { return false; }, 5 * kMillisecond);
  events.clear();
  drain_until(
      session, events, [](const auto&) { return false; }, 50 * kMillisecond);
  CHECK(only<SampleEvent>(events).empty());
}

TEST_CASE("Clocks of cores take a new period, and stop copying stacks", "[perf]") {
  if (!perf_is_allowed() || !cores_can_be_sampled()) return;
  Child child([] { spin_for(10 * kSecond); });
  child.go();
  while (cpu_time_of(child.pid()) < 5 * kMillisecond) sleep_until(monotonic_now() + kMillisecond);
  Session session(child.pid(),
                  {.period_ns = 10 * kMillisecond, .stack_bytes = 1024, .by_core = true});
  session.start();
  std::vector<Event> events;
  const auto samples_of = [&](Nanoseconds time_ns) {
    events.clear();
    drain_until(
        session, events, [](const auto&) { return false; }, time_ns);
    return only<SampleEvent>(events);
  };
  for (const SampleEvent& sample : samples_of(200 * kMillisecond)) {
    CHECK_FALSE(sample.user.stack.empty());
    CHECK(sample.period_ns > 5 * kMillisecond);
  }
  session.set_stack_bytes(0);
  session.set_period(500 * kMicrosecond);
  samples_of(20 * kMillisecond);  // those that were on the way
  const Nanoseconds before_ns = cpu_time_of(child.pid());
  const auto samples = samples_of(400 * kMillisecond);
  const Nanoseconds ran_ns = cpu_time_of(child.pid()) - before_ns;
  Nanoseconds sampled_ns = 0;
  for (const SampleEvent& sample : samples) {
    CHECK(sample.user.stack.empty());
    CHECK_FALSE(sample.callers.empty());
    sampled_ns += sample.period_ns;
  }
  CHECK(samples.size() > 200);
  CHECK(static_cast<double>(sampled_ns) > 0.7 * static_cast<double>(ran_ns));
  CHECK(static_cast<double>(sampled_ns) < 1.3 * static_cast<double>(ran_ns));
}

// In a process of hundreds of threads each ring has room for few samples.
TEST_CASE("Switches are sampled as often as a small ring has room", "[perf]") {
  if (!perf_is_allowed()) return;
  Child child([] {
    for (int i = 0; i < 300; ++i) std::thread([] { pause(); }).detach();
    await_go();
    // As sendmsg(2) is called by some.
    std::array<char, 16 * 1024> vectors{};
    for (;;) {
      asm volatile("" : : "r"(vectors.data()) : "memory");
      usleep(1);
    }
  });
  child.go();
  Session session(child.pid(), {.call_chain_depth = 0, .stack_bytes = 32 * 1024, .leaving = true});
  session.start();
  child.go();
  std::vector<Event> events;
  int on_time = 0;         // drains
  std::uint64_t lost = 0;  // found by these; of others the reader was late, and no ring is so large
  const auto drain_for = [&](int times) {
    Nanoseconds last_ns = monotonic_now();
    for (int i = 0; i < times; ++i) {
      sleep_until(monotonic_now() + 8 * kMillisecond);
      const std::uint64_t lost_before = session.losses().records_lost;
      for (Event& event : session.drain(monotonic_now())) events.push_back(std::move(event));
      session.adapt_leaving(64);
      if (monotonic_now() - std::exchange(last_ns, monotonic_now()) > 12 * kMillisecond) continue;
      ++on_time;
      lost += session.losses().records_lost - lost_before;
    }
  };
  drain_for(50);
  events.clear();
  on_time = 0;
  lost = 0;
  drain_for(100);
  if (on_time < 50) return causalctl::test::skip_test_case("the reader was late most of the time");
  const auto samples = only<SampleEvent>(events);
  const auto leaving = std::count_if(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.reason == SampleReason::leaving;
  });
  CAPTURE(leaving, lost, on_time, only<SwitchEvent>(events).size());
  CHECK(leaving > 100);
  CHECK(lost < static_cast<std::uint64_t>(leaving));
  CHECK(std::all_of(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.reason != SampleReason::leaving || sample.user.stack.size() > 16 * 1024;
  }));
}

TEST_CASE("Clocks of cores pay for a process that switches often", "[perf]") {
  Child busy([] { spin_for(10 * kSecond); });
  busy.go();
  CHECK_FALSE(core_sampling_pays(busy.pid(), kMillisecond));
  Child sleepy([] {
    for (;;) usleep(1);
  });
  sleepy.go();
  sleep_until(monotonic_now() + 5 * kMillisecond);
  CHECK(core_sampling_pays(sleepy.pid(), kMillisecond));
  CHECK_FALSE(core_sampling_pays(sleepy.pid(), 10 * kMicrosecond));
}

}  // namespace causalctl::perf::test

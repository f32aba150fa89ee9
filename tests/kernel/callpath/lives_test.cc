// Calls that are watched until they return: the rate that is told, against the number of calls that
// the program itself has counted.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "controller/base/clock.h"
#include "controller/callpath/call_rates.h"
#include "controller/callpath/run.h"
#include "controller/perf/slot_watch.h"
#include "tests/support/skip.h"

namespace causalctl::callpath {
namespace {

std::atomic<bool> stop{false};
std::atomic<std::uint64_t> calls{0};
std::uint64_t state = 88172645463325252;

std::uint64_t random_number() {  // xorshift64
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

__attribute__((noinline)) void spin(std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) asm volatile("" ::: "memory");
}

// Some 75 to 225 µs, longer than what is too short to be told.
__attribute__((noinline)) void watched_work() {
  spin(150'000 + random_number() % 300'000);
  asm volatile("" ::: "memory");  // so that it is no tail call
}

__attribute__((noinline)) void watched_loop() {
  while (!stop) {
    spin(random_number() % 100'000);
    watched_work();
    ++calls;
  }
}

}  // namespace

TEST_CASE("a word of memory is watched for its next access", "[callpath][lives]") {
  if (!perf::try_slot_watch().is_seen()) {
    return test::skip_test_case("no breakpoint at memory fires here");
  }
  alignas(8) static volatile std::uint64_t words[2] = {};
  auto watch = perf::SlotWatch::open(0);
  REQUIRE(watch);
  for (int i = 0; i < 5; ++i) {
    const volatile std::uint64_t& word = words[i % 2];
    watch->watch(reinterpret_cast<Address>(&word));
    CHECK_FALSE(watch->hit());
    words[1 - i % 2] = 1;
    CHECK_FALSE(watch->hit());
    const Nanoseconds before_ns = monotonic_now();
    for (int access = 0; access < 1000; ++access) words[i % 2] = word + 1;
    const auto hit = watch->hit();
    REQUIRE(hit);
    CHECK(hit->time_ns >= before_ns);
    CHECK(hit->time_ns < before_ns + 200 * kMicrosecond);
  }
}

TEST_CASE("how often a function is called is told by what is left of its calls",
          "[callpath][lives]") {
  if (!perf::try_slot_watch().is_seen()) {
    return test::skip_test_case("no breakpoint at memory fires here");
  }
  std::thread worker(watched_loop);
  Settings settings;
  settings.lives = true;
  settings.duration_ns = 12 * kSecond;
  Recording recording;
  std::uint64_t first = 0;
  Hooks hooks;
  hooks.show = [](const std::string&) {};
  hooks.interrupts = [] { return 0; };
  hooks.followed = [&] { first = calls; };
  record(getpid(), settings, hooks, recording);
  const double truth = static_cast<double>(calls - first) /
                       (static_cast<double>(recording.wall_ns) / static_cast<double>(kSecond));
  stop = true;
  worker.join();
  const auto rates = call_rates(recording).rates;
  const auto of_loop = std::find_if(rates.begin(), rates.end(), [](const auto& rate) {
    return rate.path.back().find("watched_loop") != std::string::npos;
  });
  for (const WatchedCalls& each : recording.watched.calls) {
    UNSCOPED_INFO("watched: " << each.probes << " probes, " << each.clear << " clear, "
                              << each.unclear << " unclear, " << each.lives_ns.size()
                              << " lives, stopped after " << each.stopped_ns << " ns");
  }
  REQUIRE(of_loop != rates.end());
  INFO(of_loop->per_second << " [" << of_loop->low << ", " << of_loop->high << "], truth " << truth
                           << ", " << of_loop->returns << " returns");
  // Two times 1.96 standard deviations are between the ends of the interval.
  const double deviation = std::log(of_loop->high / of_loop->low) / (2 * 1.96);
  CHECK(std::abs(std::log(of_loop->per_second / truth)) < 4.5 * deviation);
  CHECK(of_loop->returns > 100);
}

}  // namespace causalctl::callpath

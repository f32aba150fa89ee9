#include "controller/causal/cadence.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

constexpr Nanoseconds kMs = kMillisecond;

// A second in which the target's threads block so often and wait for cores for so long, summed.
struct Seconds {
  Cadence cadence;
  Nanoseconds now_ns = kSecond;
  Nanoseconds core_wait_ns = 0;
  Seconds() { cadence.start(now_ns); }
  void pass(int blocks, Nanoseconds waited_ns = 0) {
    for (int i = 0; i < blocks; ++i) cadence.blocked();
    now_ns += kSecond;
    core_wait_ns += waited_ns;
    cadence.look(now_ns, core_wait_ns);
  }
};

}  // namespace

TEST_CASE("ticks are as long as the target's threads go without blocking", "[causal][cadence]") {
  Seconds seconds;
  CHECK(seconds.cadence.tick_ns() == 2 * kMs);  // until something is known
  CHECK(seconds.cadence.threshold_ns() == 5 * kMs);
  SECTION("never") {
    seconds.pass(0);
    CHECK(seconds.cadence.tick_ns() == 8 * kMs);
    CHECK(seconds.cadence.threshold_ns() == 20 * kMs);
  }
  SECTION("every 40 ms") {
    seconds.pass(25);
    CHECK(seconds.cadence.tick_ns() == 5 * kMs);
    CHECK(seconds.cadence.threshold_ns() == 12'500'000);
  }
  SECTION("every 90 ms") {
    seconds.pass(11);
    CHECK(seconds.cadence.tick_ns() == 8 * kMs);
  }
  SECTION("every millisecond") {
    seconds.pass(1000);
    CHECK(seconds.cadence.tick_ns() == 2 * kMs);
  }
}

TEST_CASE("ticks only ever get shorter", "[causal][cadence]") {
  Seconds seconds;
  seconds.pass(0);
  seconds.pass(25);
  CHECK(seconds.cadence.tick_ns() == 5 * kMs);
  seconds.pass(0);
  CHECK(seconds.cadence.tick_ns() == 5 * kMs);
  seconds.pass(10'000);
  CHECK(seconds.cadence.tick_ns() == 2 * kMs);
  seconds.pass(0);
  CHECK(seconds.cadence.tick_ns() == 2 * kMs);
}

TEST_CASE("a tick is not chosen by what was seen in a moment", "[causal][cadence]") {
  Seconds seconds;
  seconds.cadence.look(seconds.now_ns + 100 * kMs, 0);
  CHECK(seconds.cadence.tick_ns() == 2 * kMs);
  for (int i = 0; i < 50; ++i) seconds.cadence.blocked();
  seconds.cadence.look(seconds.now_ns + 200 * kMs, 0);
  seconds.pass(0);  // 50 in this second, though two looks have passed over them
  CHECK(seconds.cadence.tick_ns() == 2'500'000);
}

TEST_CASE("where threads wait for cores or by spinning ticks are short", "[causal][cadence]") {
  Seconds seconds;
  SECTION("for cores") {
    seconds.pass(0, 300 * kMs);
    CHECK(seconds.cadence.oversubscribed());
    CHECK(seconds.cadence.tick_ns() == 2 * kMs);
    CHECK(seconds.cadence.threshold_ns() == 10 * kMs);
    seconds.pass(0, 0);
    CHECK_FALSE(seconds.cadence.oversubscribed());
    CHECK(seconds.cadence.threshold_ns() == 5 * kMs);
  }
  SECTION("for cores, hardly") {
    seconds.pass(0, 200 * kMs);
    CHECK_FALSE(seconds.cadence.oversubscribed());
    CHECK(seconds.cadence.tick_ns() == 8 * kMs);
  }
  SECTION("by spinning") {
    seconds.cadence.waits_by_spinning();
    seconds.pass(0);
    CHECK(seconds.cadence.tick_ns() == 2 * kMs);
    CHECK(seconds.cadence.threshold_ns() == kMs);
  }
  SECTION("and where the pauses are only safe if looked at") {
    seconds.cadence.keep_shortest();
    seconds.pass(0);
    CHECK(seconds.cadence.tick_ns() == 2 * kMs);
  }
}

}  // namespace causalctl::causal

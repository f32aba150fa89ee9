#include "controller/perf/throttling.h"

#include <catch2/catch.hpp>

namespace causalctl::perf {

namespace {

constexpr Nanoseconds kMs = kMillisecond;

void check(const Throttling::Worth& worth, Nanoseconds sampled_ns, Nanoseconds unsampled_ns) {
  CHECK(worth.sampled_ns == sampled_ns);
  CHECK(worth.unsampled_ns == unsampled_ns);
}

}  // namespace

TEST_CASE("The shortest period is twice that of the kernel's limit", "[perf]") {
  CHECK(shortest_period(2000) == kMs);
  CHECK(shortest_period(100'000) == 20 * kMicrosecond);
  CHECK(shortest_period(250) == 8 * kMs);
}

TEST_CASE("A limit below that of one a tick asks for no longer period", "[perf]") {
  CHECK(shortest_period(100) == 10 * kMs);
  CHECK(shortest_period(1) == 10 * kMs);
  CHECK(shortest_period(0) == 10 * kMs);
}

TEST_CASE("Without throttling a sample stands for no more than its most", "[perf]") {
  Throttling throttling;
  check(throttling.take_worth(kMs, 2 * kMs, {}), kMs, 0);
  // Lost samples are counted as lost.
  check(throttling.take_worth(9 * kMs, 2 * kMs, {}), 2 * kMs, 0);
  throttling.end(5);  // ends a stop that did not begin
  check(throttling.take_worth(9 * kMs, 2 * kMs, {}), 2 * kMs, 0);
}

TEST_CASE("A sample stands for the time before it in which none could come", "[perf]") {
  Throttling throttling;
  throttling.begin(100 * kMs);
  throttling.end(103 * kMs);
  check(throttling.take_worth(4 * kMs, 2 * kMs, {}), 4 * kMs, 0);
  // The stop was before the previous sample.
  check(throttling.take_worth(9 * kMs, 2 * kMs, {}), 2 * kMs, 0);

  throttling.begin(200 * kMs);
  throttling.leaves(203 * kMs);
  throttling.end(290 * kMs);
  check(throttling.take_worth(4 * kMs, 2 * kMs, {}), 4 * kMs, 0);
}

TEST_CASE("What is longer than a tick stays without a sample", "[perf]") {
  Throttling throttling;
  throttling.begin(100 * kMs);
  throttling.end(150 * kMs);
  check(throttling.take_worth(51 * kMs, 2 * kMs, {}), 12 * kMs, 39 * kMs);
}

TEST_CASE("An event that has not counted meanwhile says so", "[perf]") {
  Throttling throttling;
  throttling.begin(100 * kMs);
  throttling.end(103 * kMs);
  check(throttling.take_worth(kMs, 2 * kMs, {}), kMs, 3 * kMs);
}

TEST_CASE("A stopped event is not believed to count more than its thread has run", "[perf]") {
  Throttling throttling;
  CHECK_FALSE(throttling.take_ran(100 * kMs));  // since when it runs is unknown
  throttling.begin(100 * kMs);
  throttling.end(103 * kMs);
  throttling.leaves(104 * kMs);
  throttling.comes(150 * kMs);
  const auto ran = throttling.take_ran(151 * kMs);
  CHECK(ran == 5 * kMs);
  check(throttling.take_worth(9 * kMs, 4 * kMs, ran), 5 * kMs, 0);

  // Without a stop the count is exact, but times of records are not.
  CHECK(throttling.take_ran(152 * kMs) == kMs);
  check(throttling.take_worth(2 * kMs, 2 * kMs, kMs), 2 * kMs, 0);

  throttling.leaves(153 * kMs);
  CHECK_FALSE(throttling.take_ran(160 * kMs));  // the record of its arrival on a core was lost
  CHECK(throttling.take_ran(161 * kMs) == kMs);
}

}  // namespace causalctl::perf

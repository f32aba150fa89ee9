#include "controller/causal/engine/quota_stops.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {

namespace {

constexpr Nanoseconds kMs = kMillisecond;

}  // namespace

TEST_CASE("stops count only while a quota is used up", "[causal]") {
  QuotaStops stops;
  stops.stopped(0, 10 * kMs);
  CHECK(stops.total_ns() == 0);
  stops.set_active(true);
  stops.stopped(20 * kMs, 30 * kMs);
  stops.stopped(50 * kMs, 50 * kMs + 200 * kMicrosecond);
  CHECK(stops.total_ns() == 10 * kMs);
  stops.set_active(false);
  stops.stopped(60 * kMs, 70 * kMs);
  CHECK(stops.total_ns() == 10 * kMs);
}

TEST_CASE("what of a stretch of time fell in stops", "[causal]") {
  QuotaStops stops;
  stops.set_active(true);
  stops.stopped(20 * kMs, 30 * kMs);
  stops.stopped(50 * kMs, 70 * kMs);
  CHECK(stops.within(0, 20 * kMs) == 0);
  CHECK(stops.within(25 * kMs, 60 * kMs) == 15 * kMs);
  CHECK(stops.within(0, 100 * kMs) == 30 * kMs);
  SECTION("of the latest of them") {
    for (Nanoseconds at_ns = 1000 * kMs; at_ns < 10'000 * kMs; at_ns += 100 * kMs) {
      stops.stopped(at_ns, at_ns + kMs);
    }
    CHECK(stops.within(0, 100 * kMs) == 0);
    CHECK(stops.within(9'000 * kMs, 10'000 * kMs) == 10 * kMs);
  }
}

}  // namespace causalctl::causal

#include "controller/causal/engine/quota_stops.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {

TEST_CASE("stops count only while a quota is used up", "[causal]") {
  QuotaStops stops;
  stops.stopped(0, 10 * kMillisecond);
  CHECK(stops.total_ns() == 0);
  stops.set_active(true);
  stops.stopped(20 * kMillisecond, 30 * kMillisecond);
  stops.stopped(50 * kMillisecond, 50 * kMillisecond + 200 * kMicrosecond);
  CHECK(stops.total_ns() == 10 * kMillisecond);
  stops.set_active(false);
  stops.stopped(60 * kMillisecond, 70 * kMillisecond);
  CHECK(stops.total_ns() == 10 * kMillisecond);
}

TEST_CASE("what of a stretch of time fell in stops", "[causal]") {
  QuotaStops stops;
  stops.set_active(true);
  stops.stopped(20 * kMillisecond, 30 * kMillisecond);
  stops.stopped(50 * kMillisecond, 70 * kMillisecond);
  CHECK(stops.within(0, 20 * kMillisecond) == 0);
  CHECK(stops.within(25 * kMillisecond, 60 * kMillisecond) == 15 * kMillisecond);
  CHECK(stops.within(0, 100 * kMillisecond) == 30 * kMillisecond);
  SECTION("of the latest of them") {
    for (Nanoseconds at_ns = 1000 * kMillisecond; at_ns < 10'000 * kMillisecond;
         at_ns += 100 * kMillisecond) {
      stops.stopped(at_ns, at_ns + kMillisecond);
    }
    CHECK(stops.within(0, 100 * kMillisecond) == 0);
    CHECK(stops.within(9'000 * kMillisecond, 10'000 * kMillisecond) == 10 * kMillisecond);
  }
}

}  // namespace causalctl::causal

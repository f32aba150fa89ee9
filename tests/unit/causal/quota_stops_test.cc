#include "controller/causal/engine/quota_stops.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {

TEST_CASE("stops count only while a quota is used up", "[causal]") {
  QuotaStops stops;
  stops.stopped(0, 10);
  CHECK(stops.total_ns() == 0);
  stops.set_active(true);
  stops.stopped(20, 30);
  stops.stopped(50, 50);
  CHECK(stops.total_ns() == 10);
  stops.set_active(false);
  stops.stopped(60, 70);
  CHECK(stops.total_ns() == 10);
}

TEST_CASE("what of a stretch of time fell in stops", "[causal]") {
  QuotaStops stops;
  stops.set_active(true);
  stops.stopped(20, 30);
  stops.stopped(50, 70);
  CHECK(stops.within(0, 20) == 0);
  CHECK(stops.within(25, 60) == 5 + 10);
  CHECK(stops.within(0, 100) == 30);
  SECTION("of the latest of them") {
    for (Nanoseconds at_ns = 1000; at_ns < 10'000; at_ns += 100) stops.stopped(at_ns, at_ns + 1);
    CHECK(stops.within(0, 100) == 0);
    CHECK(stops.within(9'000, 10'000) == 10);
  }
}

}  // namespace causalctl::causal

// The estimate of what a pause costs, by both channels, is more than nothing and less than a pause.
#include "controller/pause/shot_cost.h"

#include <catch2/catch.hpp>

#include "controller/base/types.h"

namespace causalctl::pause {

TEST_CASE("what a pause costs its thread is seen at a thread of our own", "[pause]") {
  const Nanoseconds by_stub_ns = measure_shot_cost();
  CHECK(by_stub_ns > kMicrosecond);
  CHECK(by_stub_ns < 5 * kMillisecond);
  tracee::Guardian guardian;
  const Nanoseconds by_stop_ns = measure_stop_cost(guardian);
  CHECK(by_stop_ns > kMicrosecond);
  CHECK(by_stop_ns < 5 * kMillisecond);
  CHECK(guardian.finished_pauses().empty());
}

}  // namespace causalctl::pause

// Tests how often cores are sampled, and how much room that takes.
#include "controller/continuous/collect/rate.h"

#include <catch2/catch.hpp>

namespace causalctl::continuous {

TEST_CASE("The rate follows the budget, within limits", "[continuous]") {
  CHECK(period_for(30 * kMicrosecond, 0.01) == 3 * kMillisecond);
  CHECK(period_for(kMicrosecond, 0.01) == kShortestPeriod);
  CHECK(period_for(kSecond, 0.01) == kLongestPeriod);
}

TEST_CASE("There is room for a place for each sample of a drain", "[continuous]") {
  CHECK(places_for(2, 5 * kSecond, 2 * kMillisecond) == 10'000);
  CHECK(places_for(1, kSecond, kSecond) == 1U << 12U);
  CHECK(places_for(8192, 60 * kSecond, kMillisecond) == 1U << 18U);
}

}  // namespace causalctl::continuous

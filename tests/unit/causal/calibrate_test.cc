#include "controller/causal/calibrate.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace causalctl::causal {
namespace {

TEST_CASE("the cost of sampling is the robust mean of the pairs", "[causal][calibrate]") {
  std::vector<std::pair<double, double>> pairs(8, {100.0, 104.0});
  pairs.push_back({100.0, 900.0});  // the machine stalled
  pairs.push_back({100.0, 20.0});
  const auto cost = cost_of_pairs(pairs);
  REQUIRE(cost);
  CHECK(*cost == Approx(0.04));
  CHECK_FALSE(cost_of_pairs({{100, 104}, {100, 104}}));
}

TEST_CASE("the period is as long as its cost demands, within bounds", "[causal][calibrate]") {
  CHECK(affordable_period(kMillisecond, 0.005, kAffordable) == kMillisecond);
  CHECK(affordable_period(kMillisecond, -0.03, kAffordable) == kMillisecond);
  CHECK(affordable_period(kMillisecond, 0.05, kAffordable) == 4 * kMillisecond);
  CHECK(affordable_period(kMillisecond, 0.9, kAffordable) == 10 * kMillisecond);
  CHECK(affordable_period(kMillisecond, 0.06, kAffordableShortOfCores) == 2 * kMillisecond);
}

TEST_CASE("the cost of a pause follows from what was lost", "[causal][calibrate]") {
  constexpr Nanoseconds kCounted = 50 * kMicrosecond;
  constexpr double kRate = 500e-9;  // 500 pauses a second
  const PauseCost cost = pause_cost_of(0.1, 0.01, kRate, kCounted);
  CHECK(cost.cost_ns == Approx(50e3 + 0.1 / 1.1 / kRate));
  CHECK(cost.error_ns == Approx(std::hypot(0.01 / 1.1 / kRate, 0.5 * (50e3 + 0.1 / 1.1 / kRate))));
  // Never less than what a shot costs, nor ever so much more.
  CHECK(pause_cost_of(-0.05, 0.05, kRate, kCounted).cost_ns == kCounted);
  const PauseCost dearer = pause_cost_of(0.9, 0, kRate, kCounted);
  CHECK(dearer.cost_ns == 6 * kCounted);
  CHECK(dearer.error_ns > 0.9 / 1.9 / kRate - 5 * kCounted);  // what was cut off is in its error
  CHECK(guessed_pause_cost(kCounted).error_ns == kCounted);
  CHECK(guessed_pause_cost(0).error_ns > 0);
  CHECK(given_pause_cost(kCounted).cost_ns == kCounted);
  CHECK(given_pause_cost(kCounted).error_ns == kCounted / 2);
}

}  // namespace
}  // namespace causalctl::causal

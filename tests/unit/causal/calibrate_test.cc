#include "controller/causal/calibrate.h"

#include <catch2/catch.hpp>

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
  CHECK(affordable_period(kMillisecond, 0.005) == kMillisecond);
  CHECK(affordable_period(kMillisecond, -0.03) == kMillisecond);
  CHECK(affordable_period(kMillisecond, 0.05) == 4 * kMillisecond);
  CHECK(affordable_period(kMillisecond, 0.9) == 10 * kMillisecond);
}

}  // namespace
}  // namespace causalctl::causal

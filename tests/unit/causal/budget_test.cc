#include "controller/causal/experiments/budget.h"

#include <catch2/catch.hpp>
#include <vector>

namespace causalctl::causal {
namespace {

Experiment experiment_of(double speedup, Nanoseconds wall_ns, Nanoseconds delay_ns,
                         std::uint64_t visits) {
  Experiment result;
  result.speedup = speedup;
  result.wall_ns = wall_ns;
  result.delay_ns = delay_ns;
  result.throughput.push_back({"point", visits, 0, 0});
  return result;
}

// Pairs of a baseline with `plain` visits and a treatment with `sped_up` visits, which vary by one.
std::vector<Experiment> pairs(std::size_t count, Nanoseconds delay_ns, std::uint64_t plain,
                              std::uint64_t sped_up) {
  std::vector<Experiment> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(experiment_of(0, 500 * kMillisecond, 0, plain + i % 2));
    all.push_back(experiment_of(0.5, 500 * kMillisecond, delay_ns, sped_up + i % 2));
  }
  return all;
}

TEST_CASE("the budget counts pauses, whether or not there is progress", "[causal][budget]") {
  const auto without_visits = slowdown_of(pairs(5, 100 * kMillisecond, 0, 0), 0);
  CHECK(without_visits.experiments == kBudgetWindow);
  CHECK(without_visits.share == Approx(0.1));
  CHECK_FALSE(without_visits.by_progress);
  CHECK(slowdown_of(pairs(5, 100 * kMillisecond, 100, 80), 0).share == Approx(0.1).margin(0.001));
}

TEST_CASE("the budget counts the pauses of a warm-up", "[causal][budget]") {
  auto all = pairs(5, 100 * kMillisecond, 0, 0);
  for (Experiment& each : all) each.warm_up_ns = 250 * kMillisecond;
  CHECK(slowdown_of(all, 0).share == Approx(0.1 / 1.5));
  for (Experiment& each : all) each.warm_up_delay_ns = 150 * kMillisecond;
  CHECK(slowdown_of(all, 0).share == Approx((50.0 + 150.0) / 750));
  for (Experiment& each : all) each.warm_up_ns = 6 * kSecond;  // two of them are enough
  CHECK(slowdown_of(all, 0).experiments == 2);
}

TEST_CASE("the cost of sampling is added to the budget, a gain is not", "[causal][budget]") {
  CHECK(slowdown_of(pairs(5, 100 * kMillisecond, 0, 0), 0.03).share == Approx(0.13));
  CHECK(slowdown_of(pairs(5, 100 * kMillisecond, 0, 0), -0.03).share == Approx(0.1));
}

TEST_CASE("progress counts where pauses cost more than they last", "[causal][budget]") {
  const auto dear = slowdown_of(pairs(5, 10 * kMillisecond, 1000, 500), 0);
  CHECK(dear.by_progress);
  // Half of the time is sped up, of which this takes a half.
  CHECK(dear.share == Approx(0.25).margin(0.005));
}

TEST_CASE("noise in the progress ends no run", "[causal][budget]") {
  std::vector<Experiment> all;
  for (const std::uint64_t visits : {20, 2, 9, 30, 4}) {
    all.push_back(experiment_of(0, kSecond, 0, visits));
    all.push_back(experiment_of(0.5, kSecond, 0, 40 - visits - 10));
  }
  CHECK(slowdown_of(all, 0).share == 0);
}

TEST_CASE("the budget looks at the last experiments only, and at few long ones",
          "[causal][budget]") {
  CHECK(slowdown_of(pairs(4, 400 * kMillisecond, 0, 0), 0).experiments == 0);  // too few to tell
  auto all = pairs(5, 400 * kMillisecond, 0, 0);
  const auto quiet = pairs(5, 0, 0, 0);
  all.insert(all.end(), quiet.begin(), quiet.end());
  CHECK(slowdown_of(all, 0).share == 0);
  const std::vector<Experiment> one = {experiment_of(0.5, 30 * kSecond, 6 * kSecond, 0)};
  CHECK(slowdown_of(one, 0).share == Approx(0.2));
  CHECK(slowdown_of({}, 0.5).experiments == 0);
}

TEST_CASE("what watching costs while nothing is paused is told and may end a run",
          "[causal][budget]") {
  const WatchingCost cost{0.08, 0.03, 0.06};
  CHECK(over_budget(WatchingCost{{}, 0, 0.06}, 5) ==
        "ended early: the target ran 6.0 % slower while nothing was paused (counting visits takes "
        "6.0 %), --max-slowdown is 5.0 %");
  CHECK(cost.share() == Approx(0.14));
  CHECK(cost.low() == Approx(0.09));  // that of sampling may be noise, that of visits is known
  CHECK(WatchingCost{0.01, -0.05, 0.06}.low() == Approx(0.06));
  CHECK(WatchingCost{-0.1, -0.2, 0.06}.share() == Approx(0.06));
  CHECK(told_loss(cost).starts_with(
      "watching slows the target by 14 % while nothing is paused: sampling takes 8.0 %, counting "
      "visits 6.0 %"));
  CHECK(over_budget(cost, 5) ==
        "ended early: the target ran 14.0 % slower while nothing was paused (sampling takes 8.0 %, "
        "counting visits 6.0 %), --max-slowdown is 5.0 %");
}

}  // namespace
}  // namespace causalctl::causal

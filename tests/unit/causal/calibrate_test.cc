#include <catch2/catch.hpp>
#include <cmath>

#include "controller/causal/analysis/pause_cost.h"
#include "controller/causal/experiments/measure_pacing.h"
#include "controller/causal/experiments/sampling_cost.h"

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

TEST_CASE("what samples take counts, unless progress certainly shows more", "[causal][calibrate]") {
  const auto of_samples = cost_of_samples(Interval{12'000, 11'000, 13'000}, kMillisecond);
  REQUIRE(of_samples);
  CHECK(of_samples->value == Approx(0.012));
  CHECK(of_samples->low == Approx(0.011));
  CHECK(of_samples->high == Approx(0.013));
  CHECK(known_cost(of_samples, std::nullopt)->value == Approx(0.012));
  CHECK(known_cost(of_samples, Interval{-0.17, -0.43, 0.21})->value == Approx(0.012));
  CHECK(known_cost(of_samples, Interval{0.10, 0.012, 0.19})->value == Approx(0.012));
  CHECK(known_cost(of_samples, Interval{0.10, 0.05, 0.15})->value == Approx(0.10));
  CHECK(known_cost(std::nullopt, Interval{0.10, -0.05, 0.25})->value == Approx(0.10));
  CHECK_FALSE(known_cost(cost_of_samples(std::nullopt, kMillisecond), std::nullopt));
}

TEST_CASE("a target is paused for less than it has to spare, within bounds",
          "[causal][calibrate]") {
  CHECK(gentle_rate(0.2) == Approx(0.14));
  CHECK(gentle_rate(0.9) == 0.2);
  CHECK(gentle_rate(0) == 0.05);
  CHECK(gentle_rate(0.9, 0.1) == 0.1);  // the user's limit
  CHECK(gentle_rate(0, 0.01) == 0.01);
}

TEST_CASE("where threads queue for cores these must be idle at times, and not be kept from them",
          "[causal][calibrate]") {
  const auto rate = [](const Spare& spare) { return gentle_test(spare).value().pause_rate; };
  CHECK(rate({0.2, false, {}, 0.9}) == Approx(0.14));
  CHECK(rate({0.9, true, 0.2, 0.01}) == Approx(0.14));
  CHECK(rate({0.15, true, 0.9, 0.01}) == Approx(0.105));
  CHECK(gentle_test({0.9, true, 0.2, 0.01})->cores_short);
  CHECK_FALSE(gentle_test({0.2, false, {}, 0})->cores_short);
  CHECK(gentle_test({0.9, true, 0.2, 0}, 0.1)->pause_rate == 0.1);
  CHECK_FALSE(gentle_test({0.9, true, 0.09, 0}));    // the cores are always busy
  CHECK_FALSE(gentle_test({0.9, true, {}, 0}));      // how busy they are is unknown
  CHECK_FALSE(gentle_test({0.9, true, 0.5, 0.06}));  // CPU time is limited
}

TEST_CASE("the cost of a pause follows from what was lost", "[causal][calibrate]") {
  constexpr Nanoseconds kCounted = 50 * kMicrosecond;
  constexpr double kRate = 500e-9;  // the cost of 500 pauses a second
  const PauseCost cost = pause_cost_of(0.1, 0.01, kRate, kMillisecond, kCounted);
  CHECK(cost.cost_ns == Approx(50e3 + 0.1 / 1.1 / kRate));
  CHECK(cost.error_ns == Approx(0.01 / 1.1 / kRate).epsilon(1e-3));
  CHECK(cost.length_ns == kMillisecond);
  // The cost is never less than that of a shot, and never excessively more.
  CHECK(pause_cost_of(-0.05, 0.05, kRate, kMillisecond, kCounted).cost_ns == kCounted);
  const PauseCost dearer = pause_cost_of(0.9, 0, kRate, kMillisecond, kCounted);
  CHECK(dearer.cost_ns == 6 * kCounted);
  CHECK(dearer.error_ns ==
        // The part that was cut off is in its error.
        Approx(0.9 / 1.9 / kRate - 5 * kCounted).epsilon(1e-3));
  CHECK(guessed_pause_cost(kCounted).error_ns == kCounted);
  CHECK(guessed_pause_cost(0).error_ns > 0);
  CHECK(given_pause_cost(kCounted).cost_ns == kCounted);
  CHECK(given_pause_cost(kCounted).error_ns == 0);
}

}  // namespace
}  // namespace causalctl::causal

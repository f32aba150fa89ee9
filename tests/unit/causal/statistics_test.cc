#include "controller/causal/statistics.h"

#include <random>
#include <vector>

#include "controller/base/error.h"

#undef CHECK  // ours; from here on it is Catch2's
#include <catch2/catch.hpp>

using namespace causalctl::causal;

TEST_CASE("means", "[causal]") {
  CHECK(mean(std::vector<double>{1, 2, 6}) == 3);
  CHECK(median(std::vector<double>{6, 1, 2}) == 2);
  CHECK(median(std::vector<double>{1, 2}) == 1.5);
  CHECK(trimmed_mean(std::vector<double>{-1000, 2, 4, 6, 1000}) == 4);
  CHECK(trimmed_mean(std::vector<double>{1, 2, 3, 10}) == 4);  // a fifth of four is none
  CHECK_THROWS_AS(mean(std::vector<double>{}), causalctl::Bug);
}

TEST_CASE("quantiles of Student and Gauss", "[causal]") {
  CHECK(student_t_975(1) == 12.706);
  CHECK(student_t_975(10) == Approx(2.228).margin(0.001));
  CHECK(student_t_975(30) == Approx(2.042).margin(0.001));
  CHECK(student_t_975(1'000'000) == Approx(1.960).margin(0.001));
  CHECK(normal_cdf(0) == 0.5);
  CHECK(normal_cdf(-1.959964) == Approx(0.025).margin(1e-6));
}

TEST_CASE("too few values have no interval", "[causal]") {
  CHECK_FALSE(trimmed_mean_interval(std::vector<double>{1, 2}, 1));
  CHECK(trimmed_mean_interval(std::vector<double>{1, 2, 3}, 1));
}

TEST_CASE("intervals are deterministic", "[causal]") {
  const std::vector<double> values = {3, 1, 4, 1, 5, 9, 2, 6};
  const auto first = trimmed_mean_interval(values, 1);
  const auto second = trimmed_mean_interval(values, 1);
  CHECK(first->low == second->low);
  CHECK(first->high == second->high);
}

TEST_CASE("a design effect of four doubles the interval", "[causal]") {
  const std::vector<double> values = {3, 1, 4, 1, 5, 9, 2, 6};
  const auto once = trimmed_mean_interval(values, 1);
  const auto twice = trimmed_mean_interval(values, 4);
  CHECK(twice->high - twice->low == Approx(2 * (once->high - once->low)));
}

TEST_CASE("95 % intervals of the trimmed mean hold the truth in 90 to 98 %", "[causal]") {
  const auto n = GENERATE(3, 5, 8, 15, 40);
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  std::normal_distribution<double> normal(7, 2);
  int held = 0;
  constexpr int kRepetitions = 300;
  for (int i = 0; i < kRepetitions; ++i) {
    std::vector<double> values;
    for (int k = 0; k < n; ++k) values.push_back(normal(random));
    const auto range = trimmed_mean_interval(values, 1);
    held += range->low <= 7 && 7 <= range->high ? 1 : 0;
  }
  INFO("n " << n << " held " << held);
  CHECK(held >= 0.90 * kRepetitions);
  CHECK(held <= 0.98 * kRepetitions);
}

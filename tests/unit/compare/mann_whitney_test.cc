#include "controller/compare/mann_whitney.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace causalctl::compare {

TEST_CASE("exact: every order of few values is counted", "[compare]") {
  // Of the 20 orders of three and three values, one has U = 0 and one U = 9.
  const std::vector<double> low = {1, 2, 3}, high = {4, 5, 6};
  REQUIRE(mann_whitney(low, high).u == 0);
  REQUIRE(mann_whitney(low, high).p_value == Approx(2.0 / 20));
  REQUIRE(mann_whitney(high, low).u == 9);
  REQUIRE(mann_whitney(high, low).p_value == Approx(2.0 / 20));
  // U <= 1 holds for two orders at each end.
  const std::vector<double> crossed = {1, 2, 4}, others = {3, 5, 6};
  REQUIRE(mann_whitney(crossed, others).u == 1);
  REQUIRE(mann_whitney(crossed, others).p_value == Approx(4.0 / 20));
}

TEST_CASE("the tables of the test: U = 2 at 5 and 5, U = 23 at 10 and 10 are just at 5 %",
          "[compare]") {
  // Two-sided critical values at 0.05 (Mann & Whitney 1947 and every textbook): 2 and 23.
  const auto with_u = [](std::size_t count, std::size_t u) {
    std::vector<double> a, b;
    for (std::size_t i = 0; i < count; ++i) b.push_back(static_cast<double>(i));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t above = std::min(u, count);
      u -= above;
      a.push_back(static_cast<double>(above) - 0.5 + 1e-6 * static_cast<double>(i));
    }
    return mann_whitney(a, b);
  };
  REQUIRE(with_u(5, 2).u == 2);
  REQUIRE(with_u(5, 2).p_value <= 0.05);
  REQUIRE(with_u(5, 3).p_value > 0.05);
  REQUIRE(with_u(10, 23).u == 23);
  REQUIRE(with_u(10, 23).p_value <= 0.05);
  REQUIRE(with_u(10, 24).p_value > 0.05);
}

TEST_CASE("ties and many values go by the normal approximation", "[compare]") {
  const std::vector<double> same(10, 4.0);
  REQUIRE(mann_whitney(same, same).p_value == 1);
  REQUIRE(mann_whitney(same, {}).p_value == 1);
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) a.push_back(normal(random));
  for (int i = 0; i < 40; ++i) b.push_back(normal(random) + 0.5);
  const double exact = mann_whitney(a, b).p_value;
  a.push_back(a.front());  // one tie makes it inexact
  REQUIRE(mann_whitney(a, b).p_value == Approx(exact).epsilon(0.4));
}

TEST_CASE("when nothing differs, p is at most 5 % in one of twenty cases",
          "[compare][statistics]") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  int rejected = 0;
  for (int experiment = 0; experiment < 2000; ++experiment) {
    std::vector<double> a(12), b(12);
    for (double& value : a) value = normal(random);
    for (double& value : b) value = normal(random);
    rejected += mann_whitney(a, b).p_value <= 0.05;
  }
  REQUIRE(rejected < 2000 * 0.065);
  REQUIRE(rejected > 2000 * 0.03);
}

}  // namespace causalctl::compare

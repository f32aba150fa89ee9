#include "controller/base/statistics.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "controller/base/error.h"

namespace causalctl::statistics {

TEST_CASE("means", "[causal]") {
  CHECK(mean(std::vector<double>{1, 2, 6}) == 3);
  CHECK(median(std::vector<double>{6, 1, 2}) == 2);
  CHECK(median(std::vector<double>{1, 2}) == 1.5);
  CHECK(trimmed_mean(std::vector<double>{-1000, 2, 4, 6, 1000}) == 4);
  CHECK(trimmed_mean(std::vector<double>{1, 2, 3, 10}) == 4);  // a fifth of four values is none
  CHECK_THROWS_AS(mean(std::vector<double>{}), causalctl::Bug);
}

TEST_CASE("Student's t: tables, tails, and the normal limit", "[causal]") {
  CHECK(student_t_quantile(0.025, 1) == Approx(12.7062).epsilon(1e-5));
  CHECK(student_t_quantile(0.025, 2) == Approx(4.30265).epsilon(1e-5));
  CHECK(student_t_quantile(0.025, 10) == Approx(2.22814).epsilon(1e-5));
  CHECK(student_t_quantile(0.005, 5) == Approx(4.03214).epsilon(1e-5));
  CHECK(student_t_quantile(0.0005, 30) == Approx(3.64596).epsilon(1e-5));
  CHECK(half_interval_of_mean(std::vector<double>{1, 3, 5}) ==
        Approx(4.30265 * std::sqrt(4.0 / 3)).epsilon(1e-5));
  CHECK(student_t_quantile(0.025, 1'000'000) == Approx(1.95996).epsilon(1e-5));
  CHECK(student_t_cdf(0, 7) == Approx(0.5));
  CHECK(student_t_cdf(-2.228139, 10) == Approx(0.025).epsilon(1e-5));
  CHECK(student_t_cdf(2.228139, 10) == Approx(0.975).epsilon(1e-5));
}

TEST_CASE("scale and clipping", "[causal]") {
  CHECK(robust_deviation(std::vector<double>{1, 2, 3, 4, 1000}) == Approx(1.4826 * 5 / 4.2));
  CHECK(clipped(10, 1) == kClip);
  CHECK(clipped(-10, 1) == -kClip);
  CHECK(clipped(1.5, 1) == 1.5);
  // The constants have these values for normal values.
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  double squares = 0, unclipped = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = normal(random);
    squares += clipped(value, 1) * clipped(value, 1);
    unclipped += clipped(value, 1) == value ? 1 : 0;
  }
  CHECK(squares / kDraws == Approx(kClippedVariance).margin(0.01));
  CHECK(unclipped / kDraws == Approx(kUnclipped).margin(0.003));
}

TEST_CASE("Holm's adjustment", "[causal]") {
  const std::vector<double> adjusted = holm(std::vector<double>{0.04, 0.01, 0.5, 0.011});
  CHECK(adjusted[1] == Approx(0.04));  // 4 · 0.01
  CHECK(adjusted[3] == Approx(0.04));  // 3 · 0.011 = 0.033, but not below the one before
  CHECK(adjusted[0] == Approx(0.08));  // 2 · 0.04
  CHECK(adjusted[2] == Approx(0.5));
  CHECK(holm(std::vector<double>{0.7, 0.8})[0] == 1);
  CHECK(holm(std::vector<double>{}).empty());
}

TEST_CASE("The false discovery rate is that of Benjamini and Hochberg", "[statistics]") {
  // Their example (1995, §3.1): of 15 hypotheses the four smallest are rejected at 5 %.
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const auto adjusted = statistics::benjamini_hochberg(p);
  CHECK(std::count_if(adjusted.begin(), adjusted.end(), [](double each) { return each <= 0.05; }) ==
        4);
  CHECK(adjusted[3] == Approx(0.0095 * 15 / 4));
  CHECK(adjusted[14] == Approx(1));
}

TEST_CASE("Chi-square has the tails of its tables", "[statistics]") {
  // Abramowitz & Stegun, table 26.8.
  CHECK(statistics::chi_square_tail(11.0705, 5) == Approx(0.05).margin(1e-6));
  CHECK(statistics::chi_square_tail(3.84146, 1) == Approx(0.05).margin(1e-6));
  CHECK(statistics::chi_square_tail(9.21034, 2) == Approx(0.01).margin(1e-6));
  CHECK(statistics::chi_square_tail(51.1790, 24) == Approx(0.001).margin(1e-6));
  CHECK(statistics::chi_square_tail(0, 3) == 1);
}

}  // namespace causalctl::statistics

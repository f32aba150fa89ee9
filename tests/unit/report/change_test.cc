#include "controller/report/callpath/change.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace causalctl::report::callpath {
namespace {

Measured counted(double count, double all) { return {{count}, {all}, 1}; }

bool holds(const Change& change, double truth) {
  return change.difference && change.difference->low <= truth && truth <= change.difference->high;
}

Measured as_one_part(const Measured& parts) {
  Measured one{{0}, {0}, parts.samples_per_value};
  for (std::size_t i = 0; i < parts.values.size(); ++i) {
    one.values[0] += parts.values[i];
    one.bases[0] += parts.bases[i];
  }
  return one;
}

constexpr std::size_t kParts = 12;
constexpr int kSamplesOfPart = 500;

// Samples of a function that has a share of the time, each independent of the others.
Measured independent(double share, std::mt19937_64& random) {
  Measured measured{{}, std::vector<double>(kParts, kSamplesOfPart), 1};
  std::binomial_distribution<int> samples(kSamplesOfPart, share);
  for (std::size_t i = 0; i < kParts; ++i) measured.values.push_back(samples(random));
  return measured;
}

// A program in phases: it is in the function for `share` of 100 samples on average, then out of it
// for the rest.
Measured in_phases(double share, std::mt19937_64& random) {
  Measured measured{std::vector<double>(kParts), std::vector<double>(kParts, kSamplesOfPart), 1};
  std::exponential_distribution<double> phase(1);
  double now = 0;
  for (bool inside = phase(random) < 1; now < double(kParts) * kSamplesOfPart; inside = !inside) {
    const double end = std::min(now + phase(random) * 100 * (inside ? share : 1 - share),
                                double(kParts) * kSamplesOfPart);
    while (now < end) {
      const auto part = static_cast<std::size_t>(now / kSamplesOfPart);
      if (part >= kParts) break;
      const double next = std::min(end, double(part + 1) * kSamplesOfPart);
      if (inside) measured.values[part] += next - now;
      now = next;
    }
  }
  return measured;
}

struct Coverage {
  double by_parts = 0;
  double as_one = 0;
};

// How often the interval contains the truth: a change from one share to the other.
template <class Draw>
Coverage coverage(const Draw& draw, double before, double after) {
  std::mt19937_64 random(17);
  constexpr int kTrials = 2000;
  Coverage coverage;
  for (int i = 0; i < kTrials; ++i) {
    const Measured a = draw(before, random);
    const Measured b = draw(after, random);
    coverage.by_parts += holds(change_of(a, b, Ratio::share), after - before);
    coverage.as_one +=
        holds(change_of(as_one_part(a), as_one_part(b), Ratio::share), after - before);
  }
  coverage.by_parts /= kTrials;
  coverage.as_one /= kTrials;
  return coverage;
}

}  // namespace

TEST_CASE("the interval of a difference is Newcombe's", "[report][callpath][change]") {
  // Table II of the paper, method 10.
  const Change a = change_of(counted(48, 80), counted(56, 70), Ratio::share);
  CHECK(a.difference->value == Approx(0.2));
  CHECK(a.difference->low == Approx(0.0524).margin(1e-4));
  CHECK(a.difference->high == Approx(0.3339).margin(1e-4));
  const Change b = change_of(counted(3, 10), counted(9, 10), Ratio::share);
  CHECK(b.difference->low == Approx(0.1705).margin(1e-4));
  CHECK(b.difference->high == Approx(0.8090).margin(1e-4));
  const Change none = change_of(counted(0, 10), counted(0, 20), Ratio::share);
  CHECK(none.difference->low == Approx(-0.2775).margin(1e-4));
  CHECK(none.difference->high == Approx(0.1611).margin(1e-4));
  CHECK(none.p_value == 1);
}

TEST_CASE("intervals of changes contain the truth in 19 of 20", "[report][callpath][change]") {
  for (const auto& [before, after] : {std::pair(0.3, 0.3), {0.3, 0.34}, {0.01, 0.02}}) {
    INFO(before << ' ' << after);
    const Coverage known = coverage(independent, before, after);
    CHECK(known.by_parts > 0.93);  // four standard errors of 2,000 trials below 95 %
    CHECK(known.as_one > 0.93);
    // Too wide intervals would contain it, too.
    CHECK(known.by_parts < 0.985);
  }
  const Coverage phases = coverage(in_phases, 0.3, 0.36);
  CHECK(phases.by_parts > 0.93);
  CHECK(phases.as_one < 0.5);
}

TEST_CASE("an interval leaves out 0 if the p-value is below 5 %", "[report][callpath][change]") {
  std::mt19937_64 random(3);
  int told = 0;
  for (int i = 0; i < 400; ++i) {
    const Measured a = in_phases(0.3, random);
    const Measured b = in_phases(0.4, random);
    for (const Ratio ratio : {Ratio::share, Ratio::rate}) {
      const Change change = change_of(a, b, ratio);
      CHECK(holds(change, 0) == (change.p_value > 0.05));
      told += change.p_value <= 0.05;
    }
  }
  CHECK(told > 80);
  CHECK(told < 720);
}

TEST_CASE("without parts only samples tell how certain a change is", "[report][callpath][change]") {
  const Measured one{{30}, {100}, 0};
  CHECK_FALSE(change_of(one, one, Ratio::rate).difference);
  CHECK(change_of(one, one, Ratio::rate).p_value == 1);
  const Measured parts{{3, 4, 3, 5, 4, 3}, {10, 10, 10, 10, 10, 10}, 0};
  const Measured more{{5, 7, 5, 6, 6, 7}, {10, 10, 10, 10, 10, 10}, 0};
  const Change change = change_of(parts, more, Ratio::rate);
  REQUIRE(change.difference);
  // Welch's test of the values of the parts: 2.333 ± 2.2281 × 0.4943, with 9.8 degrees of freedom,
  // here taken as 9 (2.2622).
  CHECK(change.difference->value == Approx(0.23333).margin(1e-4));
  CHECK(change.difference->low == Approx(0.23333 - 0.22622 * 0.49441).margin(2e-3));
  CHECK_FALSE(change_of(one, parts, Ratio::rate).difference);
}

TEST_CASE("what comes in one burst is not told from chance", "[report][callpath][change]") {
  Measured before{std::vector<double>(10, 0), std::vector<double>(10, 1000), 1};
  Measured after = before;
  after.values[4] = 1000;  // 10 % of all samples, at once
  CHECK(holds(change_of(before, after, Ratio::share), 0));
  for (double& value : after.values) value = 100;  // the same, all the time
  CHECK_FALSE(holds(change_of(before, after, Ratio::share), 0));
}

TEST_CASE("rates of samples have the interval of Poisson", "[report][callpath][change]") {
  // 100 samples of 1 ms in 10 s, and none.
  const Measured some{{0.1}, {10}, 1000};
  const Measured none{{0}, {10}, 1000};
  const Change change = change_of(none, some, Ratio::rate);
  CHECK(change.after == Approx(0.01));
  // Score intervals: [82.2, 121.6] of 100, and [0, 3.84] of 0.
  CHECK(change.difference->low == Approx(0.01 - std::hypot(0.00178, 0.000384)).margin(2e-5));
  CHECK(change.difference->high == Approx(0.01216).margin(2e-5));
}

}  // namespace causalctl::report::callpath

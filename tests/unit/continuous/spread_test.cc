// Tests how much functions differ between sets of samples.
#include "controller/continuous/analysis/spread.h"

#include <catch2/catch.hpp>
#include <random>

namespace causalctl::continuous {
namespace {

// Ten functions with a hundred samples of a millisecond each, on average, in a set of a second.
SampleSet set_of(std::mt19937& random, double factor_of_first) {
  SampleSet set{"set", kSecond, 1.0};
  for (int i = 0; i < 10; ++i) {
    std::poisson_distribution<std::uint64_t> samples(i == 0 ? 100 * factor_of_first : 100);
    const std::uint64_t count = samples(random);
    const Count of_function{count, static_cast<Nanoseconds>(count) * kMillisecond};
    set.rows.all += of_function;
    set.rows.rows.push_back({std::to_string(i), "image", of_function});
  }
  return set;
}

}  // namespace

TEST_CASE("Sets that are alike do not differ, but for 5 in 100 comparisons", "[continuous]") {
  std::mt19937 random(1);
  int with_any = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<SampleSet> sets;
    for (int number = 0; number < 4; ++number) sets.push_back(set_of(random, 1));
    with_any += spread_of(sets, 0).front().differs() ? 1 : 0;
  }
  // 50 are expected, with a standard deviation of 7.
  CHECK(with_any > 20);
  CHECK(with_any < 75);
}

TEST_CASE("Sets of different length, rare functions and long periods are alike, too",
          "[continuous]") {
  // 24 sets of an hour and one of 20 s, of 300 functions, with periods of 3 ms and, in some, 30 ms.
  std::mt19937 random(3);
  int with_any = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<SampleSet> sets;
    for (int number = 0; number < 25; ++number) {
      const double seconds = number == 24 ? 20 : 3600;
      const Nanoseconds period_ns = (number % 5 == 0 ? 30 : 3) * kMillisecond;
      SampleSet set{"set", static_cast<Nanoseconds>(seconds) * kSecond, seconds};
      for (int function = 0; function < 300; ++function) {
        const double cores = 0.01 / (1 + function);
        std::poisson_distribution<std::uint64_t> samples(cores * seconds * kSecond /
                                                         static_cast<double>(period_ns));
        const std::uint64_t count = samples(random);
        if (count == 0) continue;
        const Count counted{count, static_cast<Nanoseconds>(count) * period_ns};
        set.rows.all += counted;
        set.rows.rows.push_back({std::to_string(function), "image", counted});
      }
      sets.push_back(std::move(set));
    }
    with_any += spread_of(sets, 0).front().differs() ? 1 : 0;
  }
  // 5 are expected, with a standard deviation of 2.2.
  CHECK(with_any < 15);
}

TEST_CASE("The function that differs comes first", "[continuous]") {
  std::mt19937 random(2);
  std::vector<SampleSet> sets;
  for (int number = 0; number < 4; ++number) sets.push_back(set_of(random, number == 3 ? 2 : 1));
  const auto rows = spread_of(sets, 0);
  REQUIRE(rows.size() == 10);
  CHECK(rows[0].name == "0");
  CHECK(rows[0].differs());
  CHECK_FALSE(rows[1].differs());
}

TEST_CASE("A row has the figures of dcpistats", "[continuous]") {
  std::vector<SampleSet> sets;
  for (const std::uint64_t samples : {10, 20, 30}) {
    SampleSet set{"set", 2 * kSecond, 2.0};
    const Count count{samples, static_cast<Nanoseconds>(samples) * kMillisecond};
    set.rows = {count, {{"f", "image", count}}};
    sets.push_back(set);
  }
  // CPU time per second: 5, 10 and 15 ms.
  const auto rows = spread_of(sets, 0);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].sum == Approx(30e6));
  CHECK(rows[0].mean.value == Approx(10e6));
  CHECK(rows[0].deviation == Approx(5e6));
  CHECK(rows[0].least == Approx(5e6));
  CHECK(rows[0].most == Approx(15e6));
  CHECK(rows[0].range == Approx(1.0 / 3));
  // 20 samples each are expected: chi-square is 10.
  CHECK(rows[0].adjusted_p == Approx(0.0067).margin(0.001));
}

}  // namespace causalctl::continuous

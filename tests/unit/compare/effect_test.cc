// Tests whether intervals cover the truth as often as they promise, in 1,000 synthetic comparisons
// each.
#include "controller/compare/effect.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/compare/synthetic.h"

namespace causalctl::compare::test {

namespace {

struct Coverage {
  double share = 0;       // share of intervals that cover the truth
  double found = 0;       // share of intervals that do not contain zero
  double half_width = 0;  // mean
};

Coverage coverage(std::size_t blocks, double log_ratio, const Machine& machine,
                  std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Coverage result;
  for (int i = 0; i < kExperiments; ++i) {
    const auto ratios = simulated_ratios(random, blocks, log_ratio, machine);
    const auto interval = bootstrap(ratios, 0.05, random());
    REQUIRE(interval);
    result.share +=
        (interval->low <= log_ratio && log_ratio <= interval->high) / double{kExperiments};
    result.found += (interval->low > 0 || interval->high < 0) / double{kExperiments};
    result.half_width += (interval->high - interval->low) / 2 / kExperiments;
  }
  return result;
}

}  // namespace

TEST_CASE("intervals cover the truth in 95 of 100 cases, on quiet and on stalling machines",
          "[compare][statistics]") {
  const std::size_t blocks = GENERATE(4, 7, 10, 20);
  const Machine machine =
      GENERATE(Machine{}, Machine{0.02, 0, 0, 0}, Machine{0.005, 0.3, 0.3, 0.01});
  // The effect is added to the noise, so its size does not change the coverage.
  const double log_ratio = std::log(0.97);
  const Coverage result = coverage(blocks, log_ratio, machine, 17 + blocks);
  INFO(blocks << " blocks, stalls " << machine.stall_chance << ": " << result.share
              << ", half width " << result.half_width);
  // The standard error of a share of 1,000 is 0.7 %; the bounds are three of them below.
  REQUIRE(result.share >= 0.929);
  // Intervals must also have a bounded width: at most five times the error of the mean of blocks.
  const double spread =
      machine.noise + std::sqrt(machine.stall_chance * (2 - machine.stall_chance)) * machine.stall;
  REQUIRE(result.half_width < 5 * spread / std::sqrt(static_cast<double>(blocks)));
}

TEST_CASE("the smallest detectable effect is found in about 80 of 100 cases",
          "[compare][statistics]") {
  std::mt19937_64 random(23);
  const Machine machine{0.02, 0, 0, 0};
  double mean = 0;
  for (int i = 0; i < 200; ++i) {
    const auto ratios = log_ratios(simulate(random, 10, 0, machine), kTime, Phase::pairs);
    mean += detectable(ratios, *bootstrap(ratios, 0.05, random())) / 200;
  }
  const Coverage result = coverage(10, std::log(1 - mean), machine, 31);
  INFO(mean << " is found in " << result.found);
  REQUIRE(result.found > 0.70);
  REQUIRE(result.found < 0.90);
}

TEST_CASE("a stalled run in five moves the centre by little", "[compare]") {
  const std::vector<double> quiet = {-0.01, 0.0, 0.01, 0.02, -0.02, 0.0, 0.01, -0.01, 0.0, 0.0};
  std::vector<double> stalled = quiet;
  stalled[0] = 1.5;
  stalled[1] = 2.5;
  REQUIRE(std::abs(centre_of(stalled).value - centre_of(quiet).value) < 0.01);
}

TEST_CASE("too few blocks give no interval, equal blocks a point", "[compare]") {
  REQUIRE_FALSE(bootstrap(std::vector<double>{0.1, 0.1, 0.1}, 0.05, 1));
  const auto equal = bootstrap(std::vector<double>(6, 0.1), 0.05, 1);
  REQUIRE(equal->low == Approx(0.1));
  REQUIRE(equal->high == Approx(0.1));
}

TEST_CASE("logarithms become effects, ends changed over", "[compare]") {
  const causalctl::Interval effect = to_effect({std::log(0.9), std::log(0.85), std::log(0.95)});
  REQUIRE(effect.value == Approx(0.1));
  REQUIRE(effect.low == Approx(0.05));
  REQUIRE(effect.high == Approx(0.15));
}

}  // namespace causalctl::compare::test

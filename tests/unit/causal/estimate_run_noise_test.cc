// Tests groups of runs that differ in their noise.
#include "controller/causal/analysis/estimate_run_noise.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/estimate_noise.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {
namespace {

constexpr double kSlope = 0.3;
constexpr double kQuiet = 0.005;
constexpr double kNoisy = 0.1;

Run run_of(double noise, std::uint64_t seed) {
  const SyntheticUnit unit = {"a", [](double speedup) { return kSlope * speedup; }};
  return synthetic_run({.units = {unit}, .experiments = 80, .noise = noise, .seed = seed});
}

report::UnitResult result_of(const std::vector<Run>& runs) {
  return estimate(runs).progress.at(0).units.at(0);
}

double width_of(const Interval& one) { return one.high - one.low; }

bool holds(const Interval& one, double truth) { return one.low <= truth && truth <= one.high; }

std::vector<double> scales_of(const std::vector<Run>& runs) {
  PointEffects effects = compare(runs, {"work", false});
  scale_noise(effects);
  std::vector<double> scales;
  for (const Effect& effect : effects.treatments) scales.push_back(effect.noise_scale);
  return scales;
}

}  // namespace

TEST_CASE("scales of runs that differ are their noise, and 1 otherwise", "[causal]") {
  using Scales = std::vector<double>;
  CHECK(noise_scales({}).empty());
  CHECK(noise_scales(std::vector<Noise>{{1e-4, 20}}) == Scales{1});
  CHECK(noise_scales(std::vector<Noise>{{1e-4, 20}, {2e-4, 20}}) == Scales{1, 1});
  // Too few baselines.
  CHECK(noise_scales(std::vector<Noise>{{1e-6, 3}, {1e-2, 20}}) == Scales{1, 1});
  CHECK(noise_scales(std::vector<Noise>{{0, 20}, {1e-2, 20}}) == Scales{1, 1});
  const auto scales = noise_scales(std::vector<Noise>{{1e-6, 200}, {1e-2, 200}, {}});
  REQUIRE(scales.size() == 3);
  CHECK(scales[1] / scales[0] == Approx(100).epsilon(0.1));
  CHECK(scales[2] == 1);
}

TEST_CASE("equally noisy runs have the same weight", "[causal]") {
  int alike = 0;
  for (std::uint64_t seed = 1; seed <= 200; seed += 2) {
    const auto scales = scales_of({run_of(kQuiet, seed), run_of(kQuiet, seed + 1)});
    alike += std::all_of(scales.begin(), scales.end(), [](double one) { return one == 1; }) ? 1 : 0;
  }
  CHECK(alike >= 99);
  const auto alone = scales_of({run_of(kNoisy, 1)});
  CHECK(std::all_of(alone.begin(), alone.end(), [](double one) { return one == 1; }));
}

// If all runs had the same weight, the width would be that of the noisy one divided by the root of
// two.
TEST_CASE("a noisy run does not spoil a quiet one", "[causal][statistics]") {
  constexpr int kPairs = 300;
  double width_of_quiet = 0, width_of_noisy = 0, width_of_both = 0;
  int covered = 0, pools_covered = 0, pools = 0;
  for (int i = 0; i < kPairs; ++i) {
    const auto seed = static_cast<std::uint64_t>(2 * i + 1);
    const Run quiet = run_of(kQuiet, seed);
    const Run noisy = run_of(kNoisy, seed + 1);
    width_of_quiet += width_of(*result_of({quiet}).slope) / kPairs;
    width_of_noisy += width_of(*result_of({noisy}).slope) / kPairs;
    const auto both = result_of({quiet, noisy});
    width_of_both += width_of(*both.slope) / kPairs;
    covered += holds(*both.slope, kSlope) ? 1 : 0;
    for (const report::CurvePoint& pool : both.summary) {
      ++pools;
      pools_covered += holds(pool.effect, kSlope * pool.speedup) ? 1 : 0;
    }
  }
  CAPTURE(width_of_quiet, width_of_noisy, width_of_both, covered, pools_covered, pools);
  CHECK(width_of_both < 1.2 * width_of_quiet);
  CHECK(width_of_both < width_of_noisy / 5);
  CHECK(covered >= kPairs * 0.93);  // 95 % (285) are promised, with a standard deviation of 4
  CHECK(pools_covered >= pools * 0.93);
}

}  // namespace causalctl::causal

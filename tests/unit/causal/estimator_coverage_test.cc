// Tests the estimator against profiles with known truth. It also prints the table of
// docs/estimator.md:
//   build/tests/unit_tests '[coverage]'
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "controller/causal/analysis/estimate.h"
#include "controller/causal/analysis/until_certain.h"
#include "tests/unit/causal/coverage.h"
#include "tests/unit/causal/profiles.h"

namespace causalctl::causal {

namespace {

// One profile in five has a fixed unit, and one in five has only units without effect.
ProfileOptions options_of(std::uint64_t seed) {
  ProfileOptions options;
  options.seed = seed;
  options.fixed_unit = seed % 5 == 0;
  options.all_null = seed % 5 == 1;
  return options;
}

Coverage coverage_of(std::uint64_t first, std::uint64_t count, bool heavy_treatments = false) {
  Coverage coverage;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    ProfileOptions options = options_of(seed);
    options.heavy_treatments = heavy_treatments;
    const Profile profile = synthetic_profile(options);
    coverage.add(profile, estimate({profile.run}));
  }
  return coverage;
}

struct Early {
  Coverage ended_early;
  Coverage not_ended;
  double experiments = 0;  // mean number, of those that ended early
};

// Analyses are made while experiments come in, as in a run; the report is made of those at the end.
Early coverage_until_certain(std::uint64_t first, std::uint64_t count) {
  Early early;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    ProfileOptions options = options_of(seed);
    options.experiments = 1200;
    Profile profile = synthetic_profile(options);
    InterimAnalyses analyses;
    bool ended = false;
    for (std::size_t done = 1; done < profile.run.experiments.size() && !ended; ++done) {
      if (!analyses.due(done)) continue;
      const Run so_far = cut_off(profile.run, done);
      ended = decided(estimate({so_far}, analyses.level()), estimate({so_far}));
      if (ended) profile.run = so_far;
    }
    if (ended) early.experiments += static_cast<double>(profile.run.experiments.size());
    (ended ? early.ended_early : early.not_ended).add(profile, estimate({profile.run}));
  }
  early.experiments /= static_cast<double>(early.ended_early.false_alarm.total);
  return early;
}

}  // namespace

TEST_CASE("the estimator over 1,000 profiles", "[.coverage]") {
  const char* count = std::getenv("CAUSALCTL_PROFILES");
  const std::uint64_t profiles = count != nullptr ? std::strtoull(count, nullptr, 10) : 1000;
  // Constants of the estimator were chosen with the first seeds in view, so another start is a
  // check.
  const char* seed = std::getenv("CAUSALCTL_FIRST_SEED");
  const std::uint64_t first = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
  std::cout << coverage_of(first, profiles).table() << std::flush;
  std::cout << "\ntreatments noisier than baselines:\n"
            << coverage_of(100'001, profiles, true).table();
  const Early early = coverage_until_certain(200'001, profiles);
  std::cout << "\n--until-certain, 1,200 experiments at most: ended early after "
            << early.experiments << " on average:\n"
            << early.ended_early.table() << "\nnot ended early:\n"
            << early.not_ended.table();
}

// An estimator whose rates just keep the promises stays within these bounds in 99.9 % of the cases.
// Intervals of one profile are not independent, so a quarter of their number counts.
void check_promise(const Rate& rate, double least, double most) {
  CAPTURE(rate.hits, rate.total);
  REQUIRE(rate.total >= 40);
  const std::size_t independent = rate.total / 4;
  const double scale = 4.0;
  CHECK(static_cast<double>(rate.hits) >=
        scale * static_cast<double>(binomial_bounds(independent, least).hits));
  if (most < 1) {
    CHECK(static_cast<double>(rate.hits) <=
          scale * static_cast<double>(binomial_bounds(independent, most).total) + scale);
  }
}

TEST_CASE("intervals cover the truth in 93 to 97 %, of 150 profiles", "[causal][statistics]") {
  const Coverage coverage = coverage_of(1'000'001, 150);
  INFO(coverage.table());
  check_promise(coverage.slope, 0.93, 0.97);
  check_promise(coverage.curve, 0.93, 0.97);
  check_promise(coverage.summary, 0.93, 0.97);
  check_promise(coverage.best, 0.93, 1);
  // One interval of each profile, which makes them independent.
  CHECK(coverage.null_effect.hits >= binomial_bounds(coverage.null_effect.total, 0.93).hits);
  CHECK(coverage.false_alarm.hits <= binomial_bounds(coverage.false_alarm.total, 0.05).total);
  CHECK(coverage.bound.total >= 30);
  CHECK(coverage.bound.hits >= binomial_bounds(coverage.bound.total, 0.95).hits);
  // An estimator that never finds anything would keep all promises above.
  CHECK(coverage.found.share() >= 0.85);
}

TEST_CASE("ending when certain keeps the error rates", "[causal][statistics]") {
  const Early early = coverage_until_certain(2'000'001, 100);
  INFO(early.ended_early.table());
  CHECK(early.ended_early.false_alarm.total >= 20);
  CHECK(early.ended_early.false_alarm.hits <=
        binomial_bounds(early.ended_early.false_alarm.total, 0.05).total);
  check_promise(early.ended_early.slope, 0.93, 1);
}

}  // namespace causalctl::causal

// The estimator against profiles of known truth. The table of docs/estimator.md:
//   build/tests/unit_tests '[coverage]'
#include <cstdlib>
#include <iostream>

#include "controller/causal/estimate.h"
#include "tests/unit/causal/coverage.h"
#include "tests/unit/causal/profiles.h"

#undef CHECK  // ours; from here on it is Catch2's
#include <catch2/catch.hpp>

using namespace causalctl;
using namespace causalctl::causal;

namespace {

// One in five is of a fixed unit, one in five of units none of which has an effect.
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

}  // namespace

TEST_CASE("the estimator over 1,000 profiles", "[.coverage]") {
  const char* count = std::getenv("CAUSALCTL_PROFILES");
  const std::uint64_t profiles = count != nullptr ? std::strtoull(count, nullptr, 10) : 1000;
  std::cout << coverage_of(1, profiles).table();
  std::cout << "\ntreatments noisier than baselines:\n"
            << coverage_of(100'001, profiles / 4, true).table();
}

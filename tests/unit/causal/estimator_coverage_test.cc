// The estimator against profiles of known truth. The table of docs/estimator.md:
//   build/tests/unit_tests '[coverage]'
#include <cstdlib>
#include <iostream>

#include "controller/causal/estimate.h"
#include "controller/causal/until_certain.h"
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

struct Early {
  Coverage coverage;
  std::size_t ended_early = 0;
  double share_of_experiments = 0;  // mean, of those that ended early
};

// As the run does it: looks while experiments come in, the report of what there was at the end.
Early coverage_until_certain(std::uint64_t first, std::uint64_t count) {
  Early early;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Profile profile = synthetic_profile(options_of(seed));
    Looks looks;
    for (std::size_t done = 1; done < profile.run.experiments.size(); ++done) {
      if (!looks.due(done)) continue;
      const Run so_far = cut_off(profile.run, done);
      if (!decided(estimate({so_far}, looks.level()), estimate({so_far}))) continue;
      ++early.ended_early;
      early.share_of_experiments +=
          static_cast<double>(done) / static_cast<double>(profile.run.experiments.size());
      profile.run = so_far;
      break;
    }
    early.coverage.add(profile, estimate({profile.run}));
  }
  early.share_of_experiments /= static_cast<double>(std::max<std::size_t>(1, early.ended_early));
  return early;
}

}  // namespace

TEST_CASE("the estimator over 1,000 profiles", "[.coverage]") {
  const char* count = std::getenv("CAUSALCTL_PROFILES");
  const std::uint64_t profiles = count != nullptr ? std::strtoull(count, nullptr, 10) : 1000;
  std::cout << coverage_of(1, profiles).table();
  std::cout << "\ntreatments noisier than baselines:\n"
            << coverage_of(100'001, profiles, true).table();
  const Early early = coverage_until_certain(200'001, profiles);
  std::cout << "\nuntil certain: " << early.ended_early << " of " << profiles
            << " ended early, after " << 100 * early.share_of_experiments << " % of theirs:\n"
            << early.coverage.table();
}

// Tests which unit is chosen for the next execution of a program.
#include "controller/causal/experiments/execution.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace causalctl::causal {

namespace {

std::vector<UnitSamples> samples_counted(const std::vector<std::uint64_t>& counts) {
  std::vector<UnitSamples> samples;
  for (const std::uint64_t count : counts) samples.push_back({{}, count, 0});
  return samples;
}

std::map<UnitId, std::size_t> entries_of_each(const std::vector<UnitSamples>& samples,
                                              double offset) {
  std::map<UnitId, std::size_t> entries;
  for (const UnitId id : entries_by_share(samples, offset)) ++entries[id];
  return entries;
}

}  // namespace

TEST_CASE("a run whose samples were known too late does not count", "[causal][execution]") {
  CHECK(known_too_late(0, 0).empty());  // the unit did not run
  CHECK(known_too_late(50, 50).empty());
  CHECK(known_too_late(45, 50).empty());
  CHECK(known_too_late(44, 50) ==
        "6 of 50 samples of the unit were known too late to earn anything");
  CHECK_FALSE(known_too_late(0, 1).empty());
  CHECK(known_too_late(51, 50).empty());
}

TEST_CASE("no samples, no entries", "[causal][execution]") {
  CHECK(entries_by_share({}, 0).empty());
  CHECK(entries_by_share(samples_counted({0, 0}), 0.5).empty());
}

TEST_CASE("each unit has as many entries as its share says", "[causal][execution]") {
  const double offset = GENERATE(0.0, 0.3, 0.999999);
  auto entries = entries_of_each(samples_counted({3, 0, 1}), offset);
  CHECK(entries.size() == 2);
  CHECK(entries[0] == kEntriesByShare * 3 / 4);
  CHECK(entries[2] == kEntriesByShare / 4);
}

TEST_CASE("of a profile flatter than there are entries every unit is drawn",
          "[causal][execution]") {
  constexpr std::size_t kUnits = 1000;
  const auto samples = samples_counted(std::vector<std::uint64_t>(kUnits, 7));
  std::vector<double> drawn(kUnits);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> offset;
  constexpr int kDraws = 400;
  for (int i = 0; i < kDraws; ++i) {
    const auto entries = entries_by_share(samples, offset(random));
    REQUIRE(entries.size() == kEntriesByShare);
    for (const UnitId id : entries) ++drawn[id];
  }
  // 0.256 are expected each time: 102 in all, with a binomial standard deviation of 9.
  CHECK(*std::min_element(drawn.begin(), drawn.end()) > 60);
  CHECK(*std::max_element(drawn.begin(), drawn.end()) < 145);
}

}  // namespace causalctl::causal

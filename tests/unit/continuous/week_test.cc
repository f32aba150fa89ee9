// Measures what a week takes (DCPI Table 5: 13 MB for 4 processors and 480 images). Not among the
// tests that are run: unit_tests "[week]".
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "controller/continuous/record/database.h"
#include "tests/support/folder.h"

namespace causalctl::continuous {
namespace {

constexpr int kImages = 480, kPlaces = 2000, kHours = 7 * 24;
constexpr double kSamplesAnHour = 300 * 4 * 0.3 * 3600;  // a second and core, of which 30 % is used

// Images and places in them have the shares of Zipf's law.
Profile an_hour(std::mt19937& random) {
  Profile profile;
  double images = 0, places = 0;
  for (int i = 0; i < kImages; ++i) images += 1.0 / (1 + i);
  for (int i = 0; i < kPlaces; ++i) places += 1.0 / (1 + i);
  for (int image = 0; image < kImages; ++image) {
    Counts& counts = profile[{{ImageKind::file, fmt::format("/usr/lib/{}", image), "id"}}];
    for (int place = 0; place < kPlaces; ++place) {
      const double mean = kSamplesAnHour / (1 + image) / images / (1 + place) / places;
      const std::uint64_t samples = std::poisson_distribution<std::uint64_t>(mean)(random);
      if (samples == 0) continue;
      // Hot places are near each other, some bytes apart.
      const auto offset = static_cast<Address>(place) * 64 + static_cast<Address>(place % 7) * 5;
      counts[offset] = {samples, static_cast<Nanoseconds>(samples) * 3'400'000};
    }
  }
  return profile;
}

}  // namespace

TEST_CASE("A week of 480 images", "[.][week]") {
  std::mt19937 random(1);
  const test::Folder temporary;
  auto database = Database::record(temporary.file("db"), {"host", "", "", 4});
  for (int hour = 0; hour < kHours; ++hour) {
    const std::int64_t begin_ns = std::int64_t{hour} * 3600 * kSecond;
    Drain drain;
    drain.profile = an_hour(random);
    drain.end_ns = begin_ns + 3599 * kSecond;
    drain.recorded_ns = 3600 * kSecond;
    database.add(database.begin_epoch("", begin_ns), drain);
    database.roll_up(begin_ns - 48 * 3600 * kSecond);
    database.merge();
    if (hour % 24 == 23) {
      fmt::print("day {}: {:.1f} MB, {} epochs\n", hour / 24 + 1,
                 static_cast<double>(database.bytes()) / 1e6, database.epochs().size());
    }
  }
}

}  // namespace causalctl::continuous

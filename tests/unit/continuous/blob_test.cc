// Tests the form in which counts are stored, and that what is not of that form is refused.
#include "controller/continuous/record/blob.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <random>

#include "controller/base/error.h"

namespace causalctl::continuous {
namespace {

Counts random_counts(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Counts counts;
  for (std::size_t i = 0; i < size; ++i) {
    counts[random() % 10'000'000] = {random() % 1000 + 1,
                                     static_cast<Nanoseconds>(random() % kSecond)};
  }
  return counts;
}

}  // namespace

TEST_CASE("Counts are the same after they were stored", "[continuous]") {
  CHECK(decode(encode({})).empty());
  const auto largest = std::numeric_limits<std::uint64_t>::max();
  const Counts extremes = {{0, {1, 0}},
                           {largest, {largest, std::numeric_limits<Nanoseconds>::max()}}};
  CHECK(decode(encode(extremes)) == extremes);
  for (const std::size_t size : {1U, 7U, 1000U}) {
    const Counts counts = random_counts(size, size);
    CHECK(decode(encode(counts)) == counts);
  }
}

TEST_CASE("Counts of code take few bytes for a place", "[continuous]") {
  std::mt19937_64 random(3);
  Counts counts;
  for (Address offset = 0x1000; counts.size() < 2000; offset += random() % 60 + 1) {
    counts[offset] = {random() % 20 + 1, 5 * kMillisecond};
  }
  CHECK(encode(counts).size() < 7 * counts.size());
}

TEST_CASE("Bytes that are no counts are refused", "[continuous]") {
  const auto good = encode(random_counts(500, 9));
  for (std::size_t i = 0; i < good.size(); i += 13) {
    auto damaged = good;
    damaged[i] ^= std::byte{0x10};
    CHECK_THROWS_AS(decode(damaged), Error);
  }
  for (std::size_t size = 0; size < good.size(); size += 17) {
    CHECK_THROWS_AS(decode(std::span(good).first(size)), Error);
  }
}

}  // namespace causalctl::continuous

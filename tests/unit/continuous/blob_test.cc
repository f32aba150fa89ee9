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
  CHECK(decode(encode(Counts())).empty());
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

TEST_CASE("Exact counts are the same after they were stored", "[continuous]") {
  CHECK(decode_executions(encode(Executions())).empty());
  CHECK(decode_jumps(encode(Jumps())).empty());
  const auto largest = std::numeric_limits<std::uint64_t>::max();
  const Executions extremes = {{0, largest}, {1, 0}, {largest, 1}};
  CHECK(decode_executions(encode(extremes)) == extremes);
  const Jumps jumps = {{{0, 0}, 1},         {{0, largest}, 2}, {{5, 4}, 3},
                       {{5, 1U << 20U}, 4}, {{largest, 0}, 5}, {{largest, largest}, largest}};
  CHECK(decode_jumps(encode(jumps)) == jumps);
  std::mt19937_64 random(5);
  ExactCounts counts;
  for (Address address = 0x1000; counts.instructions.size() < 3000; address += random() % 7 + 1) {
    counts.instructions[address] = random() % 100'000;
    counts.jumps[{address, address + random() % 400 - 200}] = random() % 1000;
  }
  CHECK(decode_executions(encode(counts.instructions)) == counts.instructions);
  CHECK(decode_jumps(encode(counts.jumps)) == counts.jumps);
  CHECK(encode(counts.jumps).size() < 6 * counts.jumps.size());  // jumps are short
}

TEST_CASE("Counts of one kind are not read as those of another", "[continuous]") {
  const Jumps jumps = {{{0x10, 0x20}, 3}};
  const Executions executions = {{0x10, 3}};
  CHECK_THROWS_AS(decode_executions(encode(jumps)), Error);
  CHECK_THROWS_AS(decode_jumps(encode(executions)), Error);
  CHECK_THROWS_AS(decode(encode(executions)), Error);
  auto damaged = encode(jumps);
  damaged.back() ^= std::byte{1};
  CHECK_THROWS_AS(decode_jumps(damaged), Error);
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

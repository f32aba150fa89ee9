#include "controller/pause/stack_room.h"

#include <catch2/catch.hpp>

namespace causalctl::pause {
namespace {

constexpr Address kStart = 0x7f0000000000;
constexpr std::uint64_t kSize = 0x10000;
constexpr std::uint64_t kFrame = 0x1000;
constexpr std::uint64_t kLimit = 8 << 20;

procfs::Map map_named(const std::string& path) {
  procfs::Map map;
  map.start = kStart;
  map.end = kStart + kSize;
  map.path = path;
  return map;
}

}  // namespace

TEST_CASE("a thread's stack is its mapping, below its control block", "[pause]") {
  const auto range = stack_in(map_named(""), false, kStart + 0xf000, kLimit, kFrame);
  REQUIRE(range);
  CHECK(range->low == kStart + kFrame);
  CHECK(range->high == kStart + 0xf000);
  CHECK(range->contains(kStart + kFrame));
  CHECK_FALSE(range->contains(kStart + kFrame - 1));
  CHECK_FALSE(range->contains(kStart + 0xf000));
}

TEST_CASE("the first thread's stack grows", "[pause]") {
  const auto range = stack_in(map_named("[stack]"), true, kStart + 0xf000, kLimit, kFrame);
  REQUIRE(range);
  CHECK(range->low == kStart + kSize - kLimit + kFrame);
  CHECK(range->high == kStart + kSize);
}

TEST_CASE("what is no thread's stack", "[pause]") {
  CHECK_FALSE(stack_in(map_named("[heap]"), false, kStart + 0xf000, kLimit, kFrame));
  CHECK_FALSE(stack_in(map_named("[stack]"), false, kStart + 0xf000, kLimit, kFrame));
  CHECK_FALSE(stack_in(map_named(""), true, kStart + 0xf000, kLimit, kFrame));
  CHECK_FALSE(stack_in(map_named(""), false, kStart + kSize, kLimit, kFrame));
  CHECK_FALSE(stack_in(map_named(""), false, kStart + kFrame, kLimit, kFrame));
}

}  // namespace causalctl::pause

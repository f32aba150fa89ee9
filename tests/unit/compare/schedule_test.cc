#include "controller/compare/schedule.h"

#include <catch2/catch.hpp>

namespace causalctl::compare {

namespace {

bool is_mirrored(const std::vector<ScheduledRun>& block) { return block.front().role == Side::b; }

}  // namespace

TEST_CASE("a block is ABBA or BAAB, each about half of the time", "[compare]") {
  Schedule schedule(7);
  int mirrored = 0;
  for (std::size_t number = 0; number < 1000; ++number) {
    const auto block = schedule.next(Phase::pairs);
    REQUIRE(block.size() == kRunsOfBlock);
    REQUIRE(block[0].role == block[3].role);
    REQUIRE(block[1].role == block[2].role);
    REQUIRE(block[0].role != block[1].role);
    for (const ScheduledRun& scheduled : block) {
      REQUIRE(scheduled.block == number);
      REQUIRE(scheduled.side() == scheduled.role);
    }
    mirrored += is_mirrored(block);
  }
  REQUIRE(mirrored > 420);
  REQUIRE(mirrored < 580);
}

TEST_CASE("the null runs A in both roles, and counts its own blocks", "[compare]") {
  Schedule schedule(1);
  schedule.next(Phase::pairs);
  const auto block = schedule.next(Phase::null);
  int in_role_b = 0;
  for (const ScheduledRun& scheduled : block) {
    REQUIRE(scheduled.block == 0);
    REQUIRE(scheduled.side() == Side::a);
    in_role_b += scheduled.role == Side::b;
  }
  REQUIRE(in_role_b == 2);
}

TEST_CASE("a seed repeats the order, another changes it", "[compare]") {
  Schedule one(3), same(3), other(4);
  bool differs = false;
  for (int i = 0; i < 50; ++i) {
    const bool first = is_mirrored(one.next(Phase::pairs));
    REQUIRE(first == is_mirrored(same.next(Phase::pairs)));
    differs = differs || first != is_mirrored(other.next(Phase::pairs));
  }
  REQUIRE(differs);
}

TEST_CASE("whole blocks hold at least the pairs asked for", "[compare]") {
  REQUIRE(blocks_for(1) == 1);
  REQUIRE(blocks_for(2) == 1);
  REQUIRE(blocks_for(21) == 11);
}

}  // namespace causalctl::compare

#include "controller/perf/early_records.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

namespace causalctl::perf {

TEST_CASE("an early record is tried when one with its number has come", "[perf]") {
  EarlyRecords<int> early;
  early.keep(7, 10, 1);
  early.keep(8, 11, 2);
  early.keep(7, 12, 3);
  std::vector<int> tried;
  const auto give_odd = [&](int record) {
    tried.push_back(record);
    return record != 3;
  };
  early.give(std::array{9}, give_odd);
  CHECK(tried.empty());
  early.give(std::array{7, 9, 7}, give_odd);
  CHECK(tried == std::vector<int>{1, 3, 3});  // 3 was not taken, and its number came twice
  CHECK(early.size() == 2);
  tried.clear();
  early.give_all([&](int record) { return tried.push_back(record), true; });
  CHECK(tried.size() == 2);
  CHECK(early.size() == 0);
}

TEST_CASE("early records are dropped when they are old, not at each look", "[perf]") {
  constexpr Nanoseconds kSweep = EarlyRecords<int>::kSweepEvery;
  EarlyRecords<int> early;
  for (int i = 0; i < 4; ++i) early.keep(i % 2, 100 + i, i);
  early.drop_older(102);
  CHECK(early.size() == 2);
  early.drop_older(102 + kSweep - 1);
  CHECK(early.size() == 2);
  early.drop_older(102 + kSweep);
  CHECK(early.size() == 0);
}

}  // namespace causalctl::perf

#include "unwind/tables/range_map.h"

#include <catch2/catch.hpp>

namespace causalctl::unwind {

TEST_CASE("The innermost range that holds the address is found", "[unwind]") {
  const RangeMap<int> map({{50, 60, 5}, {10, 100, 1}, {20, 30, 2}, {25, 28, 3}, {40, 40, 4}});
  const auto value = [&](Address address) {
    const auto* range = map.find(address);
    return range != nullptr ? range->value : 0;
  };
  CHECK(value(9) == 0);
  CHECK(value(10) == 1);
  CHECK(value(20) == 2);
  CHECK(value(26) == 3);
  CHECK(value(28) == 2);
  CHECK(value(30) == 1);
  CHECK(value(40) == 1);  // an empty range contains nothing
  CHECK(value(59) == 5);
  CHECK(value(99) == 1);
  CHECK(value(100) == 0);
  CHECK(RangeMap<int>().find(1) == nullptr);
}

}  // namespace causalctl::unwind

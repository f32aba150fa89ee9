// Tests what is believed of a clock that is set.
#include "controller/continuous/collect/time_of_day.h"

#include <catch2/catch.hpp>

namespace causalctl::continuous {

TEST_CASE("A clock that is set makes nothing old", "[continuous]") {
  TimeOfDay day(1000 * kSecond, 10 * kSecond);
  CHECK_FALSE(day.was_set(1010 * kSecond, 20 * kSecond));
  CHECK_FALSE(day.was_set(1015 * kSecond, 20 * kSecond));  // kept right by five seconds
  CHECK(day.was_set(9000 * kSecond, 30 * kSecond) == 1025 * kSecond);
  CHECK_FALSE(day.was_set(9010 * kSecond, 40 * kSecond));
  CHECK(day.at_least(9010 * kSecond, 40 * kSecond) == 1030 * kSecond);
  CHECK(day.was_set(500 * kSecond, 50 * kSecond));
  CHECK(day.at_least(500 * kSecond, 50 * kSecond) == 500 * kSecond);
}

}  // namespace causalctl::continuous

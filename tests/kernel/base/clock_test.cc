#include "controller/base/clock.h"

#include <catch2/catch.hpp>

using namespace causalctl;

TEST_CASE("of a look that takes long only so much is counted", "[base]") {
  const auto looks_until_over = [](Nanoseconds longest_look_ns) {
    Patience patience(50 * kMillisecond, longest_look_ns);
    int looks = 0;
    do {
      sleep_until(monotonic_now() + 60 * kMillisecond);
      ++looks;
    } while (!patience.over());
    return looks;
  };
  CHECK(looks_until_over(20 * kMillisecond) == 3);
  CHECK(looks_until_over(kSecond) == 1);
}

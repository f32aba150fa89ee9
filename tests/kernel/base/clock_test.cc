#include "controller/base/clock.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("of a poll that takes long only a part is counted", "[base]") {
  const auto polls_until_over = [](Nanoseconds longest_poll_ns) {
    Patience patience(50 * kMillisecond, longest_poll_ns);
    int looks = 0;
    do {
      sleep_until(monotonic_now() + 60 * kMillisecond);
      ++looks;
    } while (!patience.over());
    return looks;
  };
  CHECK(polls_until_over(20 * kMillisecond) == 3);
  CHECK(polls_until_over(kSecond) == 1);
}

}  // namespace causalctl

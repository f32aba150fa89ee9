#include "controller/base/quota_time.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("for how long a quota held a cgroup back, in both versions", "[base]") {
  CHECK(parse_held_back("usage_usec 5\nnr_periods 12\nnr_throttled 7\nthrottled_usec 99\n") ==
        99 * kMicrosecond);
  CHECK(parse_held_back("nr_periods 2\nnr_throttled 1\nthrottled_time 81\n") == 81);
  CHECK(parse_held_back("usage_usec 5\n") == 0);
  CHECK(parse_held_back("") == 0);
}

}  // namespace causalctl

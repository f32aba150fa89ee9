// Who can be outranked, and what is said of those who cannot.
#include "controller/tracee/guardian/precedence.h"

#include <catch2/catch.hpp>

namespace causalctl::tracee {
namespace {

using Catch::Matchers::Contains;

constexpr std::size_t kCores = 2;

TEST_CASE("the priority above is the lowest one that will do", "[tracee]") {
  CHECK(priority_above({}) == 1);
  CHECK(own_priority({}) == 1);
  CHECK(priority_above({.priority = 50, .highest = 7, .count = 2}) == 51);
  CHECK(priority_above({.priority = 98, .highest = 7, .count = 2}) == 99);
  CHECK_FALSE(priority_above({.priority = 99, .highest = 7, .count = 2}));
  CHECK(own_priority({.priority = 99, .highest = 7, .count = 2}) == 99);
  CHECK_FALSE(priority_above({.deadline = 7}));
}

TEST_CASE("what could keep causalctl from all cores is refused, with its reason", "[tracee]") {
  const Claims two{.priority = 50, .highest = 7, .count = 2};
  CHECK_FALSE(why_not_before({}, 5, kCores, false));
  CHECK_FALSE(why_not_before({.nice = -20}, 5, kCores, false));
  CHECK_FALSE(why_not_before(two, 5, kCores, true));
  const auto forbidden = why_not_before(two, 5, kCores, false);
  REQUIRE(forbidden);
  CHECK_THAT(forbidden->what(), Contains("2 threads of process 5") && Contains("up to 50") &&
                                    Contains("thread 7") && Contains("priority 51"));
  CHECK_THAT(forbidden->hint(), Contains("CAP_SYS_NICE") && Contains("RLIMIT_RTPRIO to 51"));
  const auto highest = why_not_before({.priority = 99, .highest = 7, .count = 2}, 5, kCores, true);
  REQUIRE(highest);
  CHECK_THAT(highest->what(), Contains("no priority is above"));
  CHECK_THAT(highest->hint(), Contains("chrt -p 98 7"));
}

TEST_CASE("a core that is left to causalctl is enough, unless a deadline comes first", "[tracee]") {
  CHECK_FALSE(why_not_before({.priority = 99, .highest = 7, .count = 1}, 5, kCores, false));
  const auto deadline = why_not_before({.deadline = 7}, 5, kCores, true);
  REQUIRE(deadline);
  CHECK_THAT(deadline->what(), Contains("thread 7 of process 5") && Contains("SCHED_DEADLINE"));
  CHECK_THAT(deadline->hint(), Contains("chrt -o -p 0 7"));
}

}  // namespace
}  // namespace causalctl::tracee

#include "controller/compare/too_rare.h"

#include <catch2/catch.hpp>

namespace causalctl::compare {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("why a point is passed too rarely", "[compare]") {
  const Passed never{"f", 0, kSecond};
  const Passed rare{"f", 2, kSecond};
  CHECK_THAT(too_rare(rare, {}, {}).what(), Contains("f was passed 2 times in 1 s, which is too"));
  CHECK_THAT(too_rare(rare, {}, {}).hint(), Contains("make the window longer"));
  session::TargetState state;
  state.stopped = true;
  CHECK_THAT(too_rare(never, state, "below it").what(), Contains("the target is stopped"));
  CHECK_THAT(too_rare(never, state, "below it").what(), Contains("kill -CONT"));
  CHECK_THAT(too_rare(rare, state, {}).hint(), Contains("make the window longer"));
  state = {};
  state.frozen = true;
  CHECK_THAT(too_rare(never, state, {}).what(), Contains("frozen"));
  CHECK(too_rare(never, {}, "a process below it").hint() == "a process below it");
}

TEST_CASE("a latency that begins and never ends is called that", "[compare]") {
  const Passed passed{"q", 0, 2 * kSecond, 180, "accept_one", "reply"};
  CHECK(std::string(too_rare(passed, {}, {}).what()) ==
        "q: its begin (accept_one) was passed 180 times in 2 s, its end (reply) never");
  CHECK_THAT(too_rare(passed, {}, {}).hint(), Contains("that the same process passes"));
  const Passed neither{"q", 0, kSecond, 0, "accept_one", "reply"};
  CHECK_THAT(too_rare(neither, {}, {}).what(), Contains("q was passed 0 times"));
}

}  // namespace
}  // namespace causalctl::compare

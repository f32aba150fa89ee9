#include "controller/session/losses.h"

#include <catch2/catch.hpp>

using Catch::Matchers::Contains;

namespace causalctl::session {

TEST_CASE("Processes that may not be followed are counted and named, by reason", "[process_set]") {
  CHECK(texts_of_forbidden({}).empty());
  const auto one = texts_of_forbidden({{7, {"sshd", "run as root"}}});
  REQUIRE(one.size() == 1);
  CHECK(one[0] ==
        "1 process of the set is not recorded, because its events may not be opened: 7 (sshd); "
        "run as root");
  std::map<Pid, perf::ForbiddenProcess> many = {{99, {"x", "raise a limit"}}};
  for (Pid pid = 1; pid <= 10; ++pid) many[pid] = {"a", "run as root"};
  const auto texts = texts_of_forbidden(many);
  REQUIRE(texts.size() == 2);
  CHECK_THAT(texts[0], Contains("99 (x); raise a limit"));
  CHECK_THAT(texts[1], Contains("10 processes of the set are not recorded"));
  CHECK_THAT(texts[1], Contains("8 (a) and 2 others; run as root") && !Contains("9 (a)"));
}

}  // namespace causalctl::session

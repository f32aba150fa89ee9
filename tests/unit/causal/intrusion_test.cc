#include "controller/causal/engine/intrusion.h"

#include <catch2/catch.hpp>

namespace causalctl::causal {
namespace {

TEST_CASE("a progress point that is passed too often is named", "[causal][intrusion]") {
  Intrusion intrusion{"commit", 1000, 12'000, kSecond, 1000, 0};
  CHECK(warnings_of(intrusion).empty());  // 1.2 %
  intrusion.visits = 10'000;
  const auto warnings = warnings_of(intrusion);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with("commit: counting it takes 12 % of the target's CPU time"));
  CHECK(warnings[0].find("--count-by uprobe") == std::string::npos);
  intrusion.uprobe_instead = true;
  CHECK(warnings_of(intrusion).at(0).ends_with("try --count-by uprobe"));
  intrusion.target_cpu_ns = 0;
  CHECK(warnings_of(intrusion).empty());
}

TEST_CASE("hot code beside a breakpoint is pointed out", "[causal][intrusion]") {
  CHECK(warnings_of({"p", 0, 0, 0, 1000, 10}).empty());
  CHECK(warnings_of({"p", 0, 0, 0, 10, 10}).empty());  // ten samples tell nothing
  CHECK(warnings_of({"p", 0, 0, 0, 1000, 660}).size() == 1);
}

TEST_CASE("spinning is pointed out, with or without breakpoints", "[causal][intrusion]") {
  Intrusion intrusion;
  intrusion.samples = 1000;
  intrusion.spinning_share = 0.01;
  CHECK(warnings_of(intrusion).empty());
  intrusion.spinning_share = 0.2;
  CHECK(warnings_of(intrusion).size() == 1);
}

}  // namespace
}  // namespace causalctl::causal

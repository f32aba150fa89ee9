#include "controller/session/target_end.h"

#include <catch2/catch.hpp>
#include <csignal>

#include "controller/base/signal_state.h"

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace causalctl::session {

TEST_CASE("a signal that has no name is told by its number", "[session]") {
  CHECK(name_of_signal(SIGSEGV) == "SIGSEGV");
  CHECK(name_of_signal(SIGRTMIN + 3) == "signal 37");
}

TEST_CASE("the end of a target by a signal is told with the pause before it", "[session]") {
  CHECK(text_of(Death{SIGKILL, {}, 0}) ==
        "the target was ended by SIGKILL; no pause was within 1 s before");
  CHECK(text_of(Death{SIGTERM, 3'250'000, 17}) ==
        "the target was ended by SIGTERM, 3.2 ms after a pause of thread 17");
  CHECK_THAT(text_of(Death{SIGSEGV, 3'250'000, 17}), Contains("please report it"));
}

TEST_CASE("of runs that signals ended the one nearest to a pause is told", "[session]") {
  const std::vector<Death> deaths = {
      {SIGKILL, {}, 0}, {SIGTERM, 9'000'000, 17}, {SIGTERM, 2'000'000, 18}};
  CHECK(text_of(deaths, 20) ==
        "3 of 20 runs do not count, as signals ended them; in one of them the target was ended by "
        "SIGTERM, 2.0 ms after a pause of thread 18");
  CHECK_THAT(text_of({{SIGKILL, {}, 0}}, 20), EndsWith("no pause was within 1 s before"));
}

TEST_CASE("a uprobe is told as a possible cause of the target's end", "[session]") {
  Counting work{"work", "uprobe", 0};
  work.way = progress::CountedBy::uprobe;
  CHECK_THAT(uprobe_as_cause(Death{SIGTRAP, {}, 0}, {work}),
             Contains("'work' was counted by uprobe") && Contains("copies") &&
                 Contains("SIGTRAP") && EndsWith("--count-by breakpoint"));
  CHECK(uprobe_as_cause(Death{SIGKILL, {}, 0}, {work}).empty());
  work.way = progress::CountedBy::breakpoint;
  CHECK(uprobe_as_cause(Death{SIGTRAP, {}, 0}, {work}).empty());
}

}  // namespace causalctl::session

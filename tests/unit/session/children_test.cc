#include "controller/session/children.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace causalctl::session {

TEST_CASE("children are told if they run the same program or have used CPU time", "[session]") {
  const auto text = [](const ChildrenSeen& seen) { return text_of(seen, 1, "causalctl attach"); };
  CHECK_FALSE(text({}));
  CHECK_FALSE(text({{}, 0.5, 10}));
  CHECK_FALSE(text({{}, 0.01, 0}));
  CHECK_FALSE(text({{{5, "helper", 0.1, false}}, 0, 10}));
  CHECK_THAT(*text({{{12, "p", 0, true}}, 0, 1}),
             Contains("process 1 has a process below it that is not followed") &&
                 Contains("12 (p, 0.0 s)") && EndsWith("causalctl attach 12"));
  CHECK_THAT(
      *text({{{5, "p", 4, true}, {2, "p", 3, true}, {3, "p", 2, true}, {4, "p", 1, true}}, 0, 1}),
      Contains("4 processes below it") && Contains("5 (p, 4.0 s), 2 (p, 3.0 s), 3 (p, 2.0 s), …") &&
          EndsWith("causalctl attach 5"));
  CHECK_THAT(*text({{}, 5, 10}), Contains("used 5.0 s of CPU time, and the process itself 10.0 s"));
}

TEST_CASE("children that do a shell's work are told, whatever they run", "[session]") {
  const ChildrenSeen seen{{{7, "work", 3.9, false}, {8, "idle", 0, false}}, 0, 0};
  CHECK_THAT(*text_of(seen, 1, "causalctl callpath"),
             Contains("a process below it") && EndsWith("causalctl callpath 7"));
  // Many small ones together.
  std::vector<Child> many;
  for (Pid pid = 10; pid < 40; ++pid) many.push_back({pid, "small", 0.04, false});
  CHECK_THAT(*text_of({many, 0, 1}, 1, "causalctl callpath"), Contains("30 processes below it"));
}

TEST_CASE("a forked child runs the same program", "[session]") {
  CHECK(Children(getpid()).seen().alive.empty());
  const pid_t child = fork();
  if (child == 0) {
    while (true) ::pause();
  }
  const std::vector<Child> seen = Children(getpid()).seen().alive;
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].pid == child);
  CHECK(seen[0].same_program);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace causalctl::session

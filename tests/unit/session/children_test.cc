#include "controller/session/children.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

using Catch::Matchers::Contains;

namespace causalctl::session {

TEST_CASE("children are told if they run the same program or have used CPU time", "[session]") {
  CHECK_FALSE(text_of(ChildrenSeen{{}, 0.05}, 1));
  CHECK_THAT(*text_of(ChildrenSeen{{12}, 0}, 1),
             Contains("process 1 has a process below it that runs the same program (12)") &&
                 Contains("not followed"));
  CHECK_THAT(*text_of(ChildrenSeen{{2, 3, 4, 5}, 0}, 1),
             Contains("4 processes below it that run the same program (2, 3, 4, …)"));
  CHECK_THAT(*text_of(ChildrenSeen{{}, 0.5}, 1), Contains("50 % as much CPU time"));
}

TEST_CASE("a forked child runs the same program", "[session]") {
  CHECK(Children(getpid()).seen().same_program.empty());
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  CHECK(Children(getpid()).seen().same_program == std::vector<Pid>{child});
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace causalctl::session

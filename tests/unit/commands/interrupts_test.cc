// Tests signals during a profile: they are counted, unless the starter of causalctl has them
// ignored.
#include "controller/commands/interrupts.h"

#include <catch2/catch.hpp>
#include <csignal>

namespace causalctl::commands {
namespace {

TEST_CASE("interrupts are counted, and what was ignored stays so (nohup)", "[commands]") {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  struct sigaction of_tests {};  // Catch2 has handlers of its own
  sigaction(SIGINT, nullptr, &of_tests);
  // The state in which a script starts a program with `&`
  const auto terminate = std::signal(SIGTERM, SIG_IGN);
  {
    const Interrupts interrupts;
    CHECK(Interrupts::count() == 0);
    std::raise(SIGHUP);
    CHECK(Interrupts::count() == 0);
    std::raise(SIGINT);
    std::raise(SIGTERM);
    CHECK(Interrupts::count() == 2);
  }
  CHECK(std::signal(SIGHUP, before) == SIG_IGN);
  CHECK(std::signal(SIGTERM, terminate) == SIG_IGN);
  struct sigaction now {};
  sigaction(SIGINT, nullptr, &now);
  CHECK(now.sa_handler == of_tests.sa_handler);
}

}  // namespace
}  // namespace causalctl::commands

// Signals during a profile: counted, unless whoever started causalctl has them ignored.
#include "controller/session/interrupts.h"

#include <catch2/catch.hpp>
#include <csignal>

namespace causalctl::session {
namespace {

TEST_CASE("interrupts are counted, and what was ignored stays so (nohup)", "[session]") {
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
}  // namespace causalctl::session

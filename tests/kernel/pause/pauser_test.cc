// Tests which channel is chosen.
#include "controller/pause/pauser.h"

#include <string>

#include "controller/base/error.h"
#include "controller/tracee/guardian/guardian.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::pause {
namespace {

using tracee::test::program;
using tracee::test::TargetProcess;

// Checks a process without a handler, which stands for the state of the other one a moment before.
TEST_CASE("a target that installs a SIGTRAP handler after the check is paused by ptrace",
          "[pause]") {
  const TargetProcess without({program("target_waits"), "busy", "1"});
  const TargetProcess with({program("target_waits"), "handler", "1"});
  tracee::Guardian guardian;
  guardian.adopt(with.pid());
  PauserOptions options;
  options.pause_cost_ns = 0;
  SECTION("by itself") {
    const PauserChoice choice = make_pauser(without.pid(), guardian, options);
    CHECK(choice.pauser->name() == "ptrace");
    CHECK_THAT(choice.reason, Catch::Matchers::Contains("has a SIGTRAP handler of its own"));
  }
  SECTION("but not where the user wants the other channel") {
    options.channel = "sigtrap";
    CHECK_THROWS_WITH(make_pauser(without.pid(), guardian, options),
                      Catch::Matchers::Contains("has a SIGTRAP handler of its own"));
  }
  CHECK(guardian.restore().empty());
}

}  // namespace
}  // namespace causalctl::pause

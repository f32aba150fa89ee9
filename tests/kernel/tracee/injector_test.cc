// Tests the injector in this process, on a target that has changed since it was checked.
#include "controller/tracee/inject/injector.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/tracee/inject/left_stub.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
namespace {

using test::BlockSigchld;
using test::handler_is_installed;
using test::program;
using test::TargetProcess;

// inject() relies on an earlier check, which found the default action.
TEST_CASE("a handler that was installed since the check is put back, and goes on to work",
          "[tracee]") {
  const BlockSigchld block;
  TargetProcess target({program("target_waits"), "handler", "1"});
  Injector injector(target.pid(), getpid());
  int error_number = 0;
  try {
    injector.inject(4, std::nullopt);
  } catch (const Error& error) {
    error_number = error.error_number();
    CHECK_THAT(error.what(), Catch::Matchers::Contains("has a SIGTRAP handler of its own"));
  }
  CHECK(error_number == EBUSY);
  CHECK(injector.trap_replaced());
  CHECK(handler_is_installed(target.pid()));
  SECTION("before the page has gone") {
    // The page is not unmapped at once, because another thread may be in it.
    CHECK(find_left_stub(target.pid()).has_value());
  }
  SECTION("and after that") {
    CHECK(injector.restore(std::nullopt) == std::vector<std::string>{});
    CHECK_FALSE(find_left_stub(target.pid()).has_value());
    CHECK(handler_is_installed(target.pid()));
  }
  CHECK(procfs::status(target.pid()).value().tracer_pid == 0);
  REQUIRE(kill(target.pid(), SIGTRAP) == 0);
  CHECK(target.wait() == 0);
  CHECK(target.output() == "handled\n");
}

}  // namespace
}  // namespace causalctl::tracee

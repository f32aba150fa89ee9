// A launched program, from its exec to its entry point.
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "controller/base/procfs.h"
#include "controller/commands/launched.h"
#include "controller/target/guardian.h"
#include "controller/target/process.h"
#include "tests/kernel/target/target_process.h"

namespace causalctl::target {
namespace {

using test::eventually;
using test::program;

bool has_libc(Pid pid) {
  const auto maps = procfs::maps(pid);
  return maps && std::any_of(maps->begin(), maps->end(), [](const procfs::Map& map) {
           return map.path.find("libc.so") != std::string::npos;
         });
}

bool stands_at(Pid pid, Address address) {
  const auto now = activity(pid, pid);
  return procfs::status(pid)->state == 't' && now && now->instruction == address;
}

}  // namespace

TEST_CASE("a launched program is held at its entry point once its libraries are loaded",
          "[target]") {
  Guardian guardian;
  SECTION("with libraries") {
    const Pid pid = guardian.launch({{"sh", "-c", "exit 7"}, {}, {}});
    REQUIRE_FALSE(has_libc(pid));
    commands::load_libraries(pid, guardian);
    CHECK(has_libc(pid));
    CHECK(stands_at(pid, procfs::entry_point(pid)));
  }
  SECTION("without any") {
    const Pid pid = guardian.launch({{program("figure1_static"), "--rounds", "1"}, {}, {}});
    commands::load_libraries(pid, guardian);
    CHECK_FALSE(has_libc(pid));
    CHECK(stands_at(pid, procfs::entry_point(pid)));
  }
  SECTION("it goes on as if nothing had been") {
    const Pid pid = guardian.launch({{"sh", "-c", "exit 7"}, {}, {}});
    commands::load_libraries(pid, guardian);
    guardian.inject(16);
    CHECK(guardian.restore() == std::vector<std::string>{});
    CHECK(procfs::status(pid)->state == 't');
    guardian.release();
    REQUIRE(eventually(5 * kSecond, [&] { return guardian.exit_status().has_value(); }));
    REQUIRE(WIFEXITED(*guardian.exit_status()));
    CHECK(WEXITSTATUS(*guardian.exit_status()) == 7);
  }
  SECTION("a signal waits until it is released") {
    const Pid pid = guardian.launch({{"sh", "-c", "exit 7"}, {}, {}});
    commands::load_libraries(pid, guardian);
    REQUIRE(kill(pid, SIGUSR1) == 0);
    guardian.inject(16);
    CHECK(guardian.restore() == std::vector<std::string>{});
    CHECK(procfs::status(pid)->state == 't');
    guardian.release();
    REQUIRE(eventually(5 * kSecond, [&] { return guardian.exit_status().has_value(); }));
    REQUIRE(WIFSIGNALED(*guardian.exit_status()));
    CHECK(WTERMSIG(*guardian.exit_status()) == SIGUSR1);
  }
  SECTION("a library that cannot be loaded ends it") {
    const Pid pid = guardian.launch({{"sh", "-c", "exit 7"}, {}, {}});
    const rlimit little{1'500'000, 1'500'000};
    REQUIRE(prlimit(pid, RLIMIT_AS, &little, nullptr) == 0);
    CHECK_THROWS_AS(commands::load_libraries(pid, guardian), TargetGone);
  }
}

}  // namespace causalctl::target

// Tests a launched program from its exec to its entry point.
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <string>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/commands/launched.h"
#include "controller/tracee/guardian/guardian.h"
#include "controller/tracee/guardian/launch.h"
#include "controller/tracee/guardian/run_suspended.h"
#include "controller/tracee/process.h"
#include "controller/tracee/ptrace.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
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

bool has_trap(Pid pid) {
  const auto first = read_object<unsigned char>(pid, procfs::entry_point(pid));
  return first && *first == 0xcc;
}

// Runs in a process that we have stopped before its first instruction.
class TracedChild {
 public:
  explicit TracedChild(const std::string& name) : child_({{program(name)}, {}, {}}, getpid()) {
    sigset_t child_signal{};
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_signal, &mask_);
    REQUIRE(ptrace::try_seize(child_.pid(), true) == 0);
    child_.execute();
    run_to_exec(child_.pid(), [] { return false; });
  }
  ~TracedChild() {
    kill_and_reap(child_.pid());
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  Pid pid() const { return child_.pid(); }

 private:
  LaunchedChild child_;
  sigset_t mask_{};
};

}  // namespace

TEST_CASE("a program that does not come to its entry point", "[tracee]") {
  TracedChild child("slow_start");
  SECTION("is killed when its time is over") {
    constexpr Nanoseconds limit_ns = 300 * kMillisecond;
    CHECK_THROWS_WITH(run_to_entry(
                          child.pid(), [] { return false; }, limit_ns),
                      Catch::Contains("did not come to its entry point"));
    CHECK(eventually(kSecond, [&] { return procfs::has_ended(child.pid()); }));
  }
  SECTION("ends by a SIGTRAP that somebody sends it, as it would have without us") {
    const auto send_once = [&, sent = false]() mutable {
      if (!sent && has_trap(child.pid())) sent = kill(child.pid(), SIGTRAP) == 0;
      return false;
    };
    CHECK_THROWS_AS(run_to_entry(child.pid(), send_once, 5 * kSecond), TargetGone);
  }
  SECTION("goes on without the trap when causalctl is gone") {
    CHECK_THROWS_WITH(run_to_entry(child.pid(), [&] { return has_trap(child.pid()); }),
                      Catch::Contains("causalctl has ended"));
    CHECK_FALSE(has_trap(child.pid()));
    CHECK(procfs::status(child.pid())->tracer_pid == 0);
    CHECK(eventually(kSecond, [&] { return procfs::status(child.pid())->state == 'S'; }));
  }
}

// The trap would end it, because a SIGTRAP that is forced on a process cannot be ignored.
TEST_CASE("a launched program that ignores SIGTRAP is left at its first instruction", "[tracee]") {
  const auto before = signal(SIGTRAP, SIG_IGN);
  TracedChild child("loading");
  signal(SIGTRAP, before);
  CHECK(run_to_entry(child.pid(), [] { return false; }) == "it ignores SIGTRAP");
  CHECK_FALSE(stands_at(child.pid(), procfs::entry_point(child.pid())));
  CHECK_FALSE(has_trap(child.pid()));
  CHECK(procfs::has_signal(procfs::status(child.pid())->signals_ignored, SIGTRAP));
}

TEST_CASE("a launched program is suspended at its entry point once its libraries are loaded",
          "[tracee]") {
  Guardian guardian;
  SECTION("with libraries") {
    const Pid pid = guardian.launch({{"sh", "-c", "exit 7"}, {}, {}});
    REQUIRE_FALSE(has_libc(pid));
    commands::load_libraries(guardian);
    CHECK(has_libc(pid));
    CHECK(stands_at(pid, procfs::entry_point(pid)));
    CHECK_FALSE(has_trap(pid));
  }
  SECTION("without any") {
    const Pid pid = guardian.launch({{program("figure1_static"), "--rounds", "1"}, {}, {}});
    commands::load_libraries(guardian);
    CHECK_FALSE(has_libc(pid));
    CHECK(stands_at(pid, procfs::entry_point(pid)));
  }
  SECTION("it goes on as if nothing had been") {
    const Pid pid = guardian.launch({{"sh", "-c", "exit 7"}, {}, {}});
    commands::load_libraries(guardian);
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
    commands::load_libraries(guardian);
    REQUIRE(kill(pid, SIGUSR1) == 0);
    guardian.inject(16);
    CHECK(guardian.restore() == std::vector<std::string>{});
    CHECK(procfs::status(pid)->state == 't');
    guardian.release();
    REQUIRE(eventually(5 * kSecond, [&] { return guardian.exit_status().has_value(); }));
    REQUIRE(WIFSIGNALED(*guardian.exit_status()));
    CHECK(WTERMSIG(*guardian.exit_status()) == SIGUSR1);
  }
  SECTION("a mask that a library has set stays") {
    const Pid pid = guardian.launch({{program("loading"), "block"}, {}, {}});
    commands::load_libraries(guardian);
    CHECK(stands_at(pid, procfs::entry_point(pid)));
    CHECK(procfs::has_signal(procfs::status(pid)->signals_blocked, SIGTRAP));
  }
  SECTION("what a library executes instead is suspended at its own entry point") {
    const Pid pid = guardian.launch({{program("loading"), "exec", "--rounds", "1"}, {}, {}});
    commands::load_libraries(guardian);
    CHECK(has_libc(pid));
    CHECK(stands_at(pid, procfs::entry_point(pid)));
    CHECK_FALSE(has_trap(pid));
    guardian.release();
    REQUIRE(eventually(10 * kSecond, [&] { return guardian.exit_status().has_value(); }));
    REQUIRE(WIFEXITED(*guardian.exit_status()));
    CHECK(WEXITSTATUS(*guardian.exit_status()) == 0);
  }
  SECTION("what a library forks goes on") {
    const Pid pid = guardian.launch({{program("loading"), "fork", "--rounds", "1"}, {}, {}});
    commands::load_libraries(guardian);
    CHECK(stands_at(pid, procfs::entry_point(pid)));
  }
  SECTION("a guardian that is killed meanwhile ends it") {
    const Pid pid = guardian.launch({{program("slow_start")}, {}, {}});
    auto loading = std::async(std::launch::async, [&] { commands::load_libraries(guardian); });
    REQUIRE(eventually(5 * kSecond, [&] { return has_trap(pid); }));
    REQUIRE(kill(guardian.helper(), SIGKILL) == 0);
    CHECK_THROWS_AS(loading.get(), Error);
    CHECK(eventually(kSecond, [&] { return procfs::has_ended(pid); }));
  }
  SECTION("a library that cannot be loaded ends it") {
    const Pid pid = guardian.launch({{"sh", "-c", "exit 7"}, {}, {}});
    const rlimit little{1'500'000, 1'500'000};
    REQUIRE(prlimit(pid, RLIMIT_AS, &little, nullptr) == 0);
    CHECK_THROWS_AS(commands::load_libraries(guardian), TargetGone);
  }
}

}  // namespace causalctl::tracee

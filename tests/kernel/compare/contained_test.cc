// Nothing leaves a containment, and the resources that a command used are reported.
#include "controller/compare/contained.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"

namespace causalctl::compare {

namespace {

Command shell(const std::string& script) { return {{"sh", "-c", script}, {}, {}, {}, {}}; }

Ended wait_for(Contained& contained) {
  const Nanoseconds deadline_ns = monotonic_now() + 10 * kSecond;
  while (monotonic_now() < deadline_ns) {
    if (const auto ended = contained.wait_until(monotonic_now() + 100 * kMillisecond)) {
      return *ended;
    }
  }
  throw std::runtime_error("the command did not end");
}

// Returns the number that the command writes, once it has written it.
Pid written_pid(const Contained& contained) {
  const Nanoseconds deadline_ns = monotonic_now() + 10 * kSecond;
  while (contained.output().find('\n') == std::string::npos && monotonic_now() < deadline_ns) {
    sleep_until(monotonic_now() + 5 * kMillisecond);
  }
  return std::stoi(contained.output());
}

bool is_alive(Pid pid) {
  const auto status = procfs::status(pid);
  return status && status->state != 'Z';
}

// A process in a session of its own whose parent is dead and which ignores SIGTERM; `sh` writes its
// pid.
const char* kDaemon =
    "(setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' &) ; sleep 100";

}  // namespace

TEST_CASE("children that the kernel reaps itself use CPU time, too", "[compare]") {
  const auto cpu_of = [](const std::string& first) {
    Contained contained(
        shell(first + "; (i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done) & wait"), kSecond,
        "test");
    return wait_for(contained).cpu_ns;
  };
  const Nanoseconds waited_for = cpu_of("true");
  REQUIRE(waited_for > 10 * kMillisecond);
  CHECK(cpu_of("trap '' CHLD") > waited_for / 2);
}

TEST_CASE("what runs on when a command has ended is counted", "[compare]") {
  const auto outlived = [](const std::string& script) {
    Contained contained(shell(script), kSecond, "test");
    wait_for(contained);
    contained.end();
    return contained.outlived();
  };
  CHECK(outlived("sleep 100 & sleep 100 & exit 0") == 2);
  CHECK(outlived("sleep 0.01 & wait") == 0);
}

TEST_CASE("the memory of a process of ours is not that of a command", "[compare]") {
  Contained contained(shell("exit 0"), kSecond, "test");
  CHECK(wait_for(contained).peak_bytes == 0);
}

TEST_CASE("a command's end, its time and its output are told", "[compare]") {
  Contained contained(shell("echo out; echo err >&2; sleep 0.1; exit 3"), kSecond, "test");
  const Ended ended = wait_for(contained);
  REQUIRE_FALSE(ended.succeeded());
  REQUIRE(ended.text() == "exit status 3");
  REQUIRE(ended.wall_ns >= 100 * kMillisecond);
  REQUIRE(ended.cpu_ns > 0);
  REQUIRE(contained.output() == "out\nerr\n");
}

TEST_CASE("of an output only what was released is given back", "[compare]") {
  constexpr std::uint64_t kMiB = 1 << 20;
  Contained contained(shell("yes | head -c 8388608"), kSecond, "test");
  contained.release_output(4 * kMiB);
  REQUIRE(wait_for(contained).succeeded());
  CHECK(contained.stored_bytes() <= 4 * kMiB);
  CHECK(contained.output(4 * kMiB) == contained.output(7 * kMiB));
  CHECK(contained.output(4 * kMiB).size() == kMiB);
  CHECK(contained.output(4 * kMiB).starts_with("y\ny\n"));
}

TEST_CASE("a command may open its output again", "[compare]") {
  Contained contained(shell("echo one; echo two >>/dev/stdout; echo three >&2"), kSecond, "test");
  REQUIRE(wait_for(contained).succeeded());
  CHECK(contained.output() == "one\ntwo\nthree\n");
}

TEST_CASE("a command ends although it has stopped its supervisor", "[compare]") {
  const std::string script = GENERATE("kill -STOP $PPID; sleep 100",          // once
                                      "while :; do kill -STOP $PPID; done");  // again and again
  Pid child = 0;
  {
    Contained contained(shell("echo $$; " + script), kSecond, "test");
    child = written_pid(contained);
    CHECK(is_alive(child));
  }
  const Nanoseconds deadline_ns = monotonic_now() + 10 * kSecond;
  while (is_alive(child) && monotonic_now() < deadline_ns)
    sleep_until(monotonic_now() + kMillisecond);
  CHECK_FALSE(is_alive(child));
}

// [plain]: a child starts with this process's memory, which has a sanitizer's shadow.
TEST_CASE("of a large output the newest MiB is kept", "[compare]") {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::string write = "yes | head -c 100000000; echo; echo last";
  Contained contained(shell(write), kSecond, "test");
  SECTION("once it is released") {
    contained.release_output();
    REQUIRE(contained.wait_until(monotonic_now() + 30 * kSecond));
    CHECK(contained.stored_bytes() < 2 * kMiB);
    CHECK(contained.output(100'000'000) == "\nlast\n");
    CHECK(contained.output_tail().ends_with("\n    last"));
  }
  SECTION("all of it before") {
    REQUIRE(contained.wait_until(monotonic_now() + 30 * kSecond));
    CHECK(contained.stored_bytes() >= 100'000'000);
    CHECK(contained.output().starts_with("y\ny\n"));
  }
}

TEST_CASE("CPU time and memory of descendants are counted", "[compare][plain]") {
  // A child of the shell uses 256 MiB, more than this process: what is below that is not told apart
  // from what the supervisor had as a fork of it.
  Contained contained(
      shell(
          "python3 -c 'x = bytes(range(256)) * (256 << 12)\nfor i in range(1000000): pass'; true"),
      kSecond, "test");
  const Ended ended = wait_for(contained);
  REQUIRE(ended.succeeded());
  REQUIRE(ended.cpu_ns > 10 * kMillisecond);
  REQUIRE(ended.peak_bytes > 256 << 20);
  REQUIRE(ended.peak_bytes < 400 << 20);
}

TEST_CASE("environment, directory and CPU are the command's", "[compare]") {
  Command command = shell("echo $NAME; pwd; grep Cpus_allowed_list /proc/self/status; nice");
  command.environment = {{"NAME", "value"}};
  command.directory = "/";
  command.cpus = {0};
  command.nice = 7;
  Contained contained(command, kSecond, "test");
  REQUIRE(wait_for(contained).succeeded());
  REQUIRE(contained.output() == "value\n/\nCpus_allowed_list:\t0\n7\n");
}

TEST_CASE("a program is looked for along the PATH of its side", "[compare]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("causalctl-path-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink("/bin/echo", folder / "only-there");
  Command command{{"only-there", "found"}, {}, {}, {}, {}};
  CHECK_THROWS_AS(Contained(command, kSecond, "test"), UsageError);
  command.environment = {{"PATH", folder.string()}};
  Contained contained(command, kSecond, "test");
  CHECK(wait_for(contained).succeeded());
  CHECK(contained.output() == "found\n");
  std::filesystem::remove_all(folder);
}

TEST_CASE("what cannot be executed is a usage error that names it", "[compare]") {
  const auto refusal = [](const Command& command) {
    try {
      const Contained contained(command, kSecond, "side");
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  REQUIRE(refusal({{"/nonexistent"}, {}, {}, {}, {}}).find("cannot run '/nonexistent'") !=
          std::string::npos);
  REQUIRE(refusal({{"true"}, {}, "/nonexistent", {}, {}}).find("directory '/nonexistent'") !=
          std::string::npos);
  REQUIRE(refusal({{"true"}, {}, {}, {1000}, {}}).find("CPUs 1000") != std::string::npos);
}

TEST_CASE("the end takes daemons in other sessions with it", "[compare]") {
  Pid daemon = 0, command = 0;
  {
    Contained contained(shell(kDaemon), 50 * kMillisecond, "test");
    daemon = written_pid(contained);
    command = contained.pid();
    REQUIRE(is_alive(daemon));
    REQUIRE(getsid(daemon) != getsid(command));
    const auto family = contained.family();
    REQUIRE(std::find(family.begin(), family.end(), daemon) != family.end());
  }
  REQUIRE_FALSE(is_alive(daemon));
  REQUIRE_FALSE(is_alive(command));
}

TEST_CASE("a command may end in order, and is not killed when it does", "[compare]") {
  Contained contained(shell("trap 'echo bye; exit 0' TERM; echo 1; while :; do sleep 0.05; done"),
                      5 * kSecond, "test");
  written_pid(contained);
  const Nanoseconds start_ns = monotonic_now();
  contained.end();
  REQUIRE(contained.output() == "1\nbye\n");
  REQUIRE(monotonic_now() - start_ns < 4 * kSecond);
  REQUIRE(contained.ended()->succeeded());
}

TEST_CASE("a stopped command ends too", "[compare]") {
  Contained contained(shell("echo 1; sleep 100"), 200 * kMillisecond, "test");
  written_pid(contained);
  kill(contained.pid(), SIGSTOP);
  contained.end();
  REQUIRE_FALSE(is_alive(contained.pid()));
}

// Runs in a separate process: other tests may have left children here, and a scope then does
// nothing.
TEST_CASE("when the supervisor is killed, its family is ended by us", "[compare]") {
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  const Pid child = fork();
  if (child == 0) {
    bool noticed = false;
    Pid pids[2] = {};
    {
      const SubreaperScope scope;
      Contained contained(shell(kDaemon), 50 * kMillisecond, "test");
      pids[0] = written_pid(contained);
      pids[1] = contained.pid();
      const auto stat = procfs::read_text("/proc/" + std::to_string(pids[1]) + "/stat");
      kill(procfs::parse_parent(*stat), SIGKILL);
      try {
        wait_for(contained);
      } catch (const Error&) {
        noticed = true;
      }
    }
    (void)!write(pipe_fds[1], pids, sizeof pids);
    _exit(noticed ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(status == 0);
  Pid pids[2] = {};
  REQUIRE(read(pipe_fds[0], pids, sizeof pids) == sizeof pids);
  REQUIRE_FALSE(is_alive(pids[0]));
  REQUIRE_FALSE(is_alive(pids[1]));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST_CASE("when we die, everything ends", "[compare]") {
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  const Pid child = fork();
  if (child == 0) {
    Contained contained(shell(kDaemon), 50 * kMillisecond, "test");
    const Pid pids[2] = {written_pid(contained), contained.pid()};
    (void)!write(pipe_fds[1], pids, sizeof pids);
    ::pause();
  }
  Pid pids[2] = {};
  REQUIRE(read(pipe_fds[0], pids, sizeof pids) == sizeof pids);
  REQUIRE(is_alive(pids[0]));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const Nanoseconds deadline_ns = monotonic_now() + 5 * kSecond;
  while ((is_alive(pids[0]) || is_alive(pids[1])) && monotonic_now() < deadline_ns) {
    sleep_until(monotonic_now() + 10 * kMillisecond);
  }
  REQUIRE_FALSE(is_alive(pids[0]));
  REQUIRE_FALSE(is_alive(pids[1]));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

}  // namespace causalctl::compare

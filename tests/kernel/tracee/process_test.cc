#include "controller/tracee/process.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <latch>
#include <span>
#include <thread>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
namespace {

TEST_CASE("the name by which a program was started is read in its memory", "[tracee]") {
  CHECK(started_as(getpid()).empty());
  const auto link = std::filesystem::temp_directory_path() /
                    ("causalctl-another-name-" + std::to_string(getpid()));
  std::filesystem::create_symlink(test::program("target_waits"), link);
  test::TargetProcess target({link.string(), "crowd", "1"});
  std::filesystem::remove(link);
  CHECK(started_as(target.pid()) == link.filename().string());
  test::TargetProcess itself({test::program("target_waits"), "crowd", "1"});
  CHECK(started_as(itself.pid()).empty());
  CHECK(started_as(0x3ffffff).empty());
}

TEST_CASE("the usable cores are those of all threads together", "[tracee]") {
  cpu_set_t all;
  CPU_ZERO(&all);
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);

  // The thread that takes signals may have been begun by a test before.
  const auto others = procfs::threads(getpid());
  const auto set_others = [&others](const cpu_set_t& cores) {
    for (const Tid tid : others) sched_setaffinity(tid, sizeof cores, &cores);
  };
  std::latch looked(1);
  std::thread free([&looked] { looked.wait(); });
  set_others(one);
  const auto beside_a_free_one = usable_cores(getpid());
  looked.count_down();
  free.join();
  // A joined thread may still be ending, and be in /proc for a moment.
  const bool ended = test::eventually(
      kSecond, [&others] { return procfs::threads(getpid()).size() == others.size(); });
  const auto alone = usable_cores(getpid());
  set_others(all);
  REQUIRE(ended);

  CHECK(beside_a_free_one.size() == static_cast<std::size_t>(CPU_COUNT(&all)));
  REQUIRE(alone.size() == 1);
  CHECK(CPU_ISSET(alone.front(), &one));
}

// The main thread has ended by pthread_exit, and another one keeps the memory.
TEST_CASE("the memory of a process whose first thread has ended", "[tracee]") {
  static std::atomic<std::uint64_t> value;
  value = 7;
  const Pid pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);  // the last call of pthread_exit
  }
  const Nanoseconds deadline_ns = monotonic_now() + 5 * kSecond;
  while (monotonic_now() < deadline_ns && procfs::status(pid)->state != 'Z') {
    sleep_until(monotonic_now() + kMillisecond);
  }
  CHECK(procfs::status(pid)->state == 'Z');
  const auto address = reinterpret_cast<Address>(&value);
  CHECK(read_object<std::uint64_t>(pid, address) == 7U);
  const std::uint64_t nine = 9;
  CHECK(write_memory(pid, address, std::as_bytes(std::span(&nine, 1))));
  CHECK(read_object<std::uint64_t>(pid, address) == 9U);
  CHECK(find_syscall_instruction(pid).has_value());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace causalctl::tracee

#include "controller/base/procfs.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/clock.h"
#include "tests/support/folder.h"

namespace causalctl {

// The state is read before the signals. A thread may release its signals in between, and would look
// like one that runs without any handler.
TEST_CASE("a thread that is ending is gone, not one without handlers", "[base]") {
  struct sigaction before {};
  struct sigaction handler {};
  handler.sa_handler = [](int) {};
  REQUIRE(sigaction(SIGUSR1, &handler, &before) == 0);
  std::atomic<bool> stopping{false};
  std::thread maker([&] {
    while (!stopping) {
      std::vector<std::thread> threads(4);
      for (std::thread& each : threads) each = std::thread([] {});
      for (std::thread& each : threads) each.join();
    }
  });
  int seen = 0;
  int without_handler = 0;
  const Nanoseconds start_ns = monotonic_now();
  const auto passed = [&](Nanoseconds time_ns) { return monotonic_now() - start_ns > time_ns; };
  while (!(passed(2 * kSecond) && seen > 1000) && !passed(30 * kSecond)) {
    for (const Tid tid : procfs::threads(getpid())) {
      const auto status = procfs::thread_status(getpid(), tid);
      if (!status) continue;
      ++seen;
      if (!procfs::has_signal(status->signals_caught, SIGUSR1)) ++without_handler;
    }
  }
  stopping = true;
  maker.join();
  CHECK(seen > 1000);
  CHECK(without_handler == 0);
  REQUIRE(sigaction(SIGUSR1, &before, nullptr) == 0);
}

TEST_CASE("an executable that was removed has the name that it had", "[base]") {
  const test::Folder folder;
  const std::string path = folder.file("sleeps");
  std::filesystem::copy_file("/bin/sleep", path);
  const Pid pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(path.c_str(), path.c_str(), "60", nullptr);
    _exit(1);
  }
  const Nanoseconds begin_ns = monotonic_now();
  while (procfs::executable(pid) != path && monotonic_now() - begin_ns < 10 * kSecond) usleep(1000);
  std::filesystem::remove(path);
  CHECK(procfs::executable(pid) == path);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  CHECK(procfs::executable(pid).empty());
}

TEST_CASE("the CPU time of a thread grows while it runs, and only then", "[base]") {
  constexpr Nanoseconds run_ns = 50 * kMillisecond;
  constexpr Nanoseconds tick_ns = 10 * kMillisecond;
  std::atomic<Tid> tid{0};
  std::atomic<bool> stopping{false};
  std::thread idle([&] {
    tid = gettid();
    tid.notify_one();
    stopping.wait(false);
  });
  tid.wait(0);
  const auto until = [](Nanoseconds end_ns) {
    while (process_cpu_now() < end_ns) {
    }
  };
  until(process_cpu_now() + tick_ns);  // the other thread sleeps by now
  const auto mine_ns = procfs::cpu_time(getpid(), gettid());
  const auto idle_ns = procfs::cpu_time(getpid(), tid);
  REQUIRE(mine_ns);
  REQUIRE(idle_ns);
  until(process_cpu_now() + run_ns);
  CHECK(*procfs::cpu_time(getpid(), gettid()) - *mine_ns > run_ns - tick_ns);
  CHECK(*procfs::cpu_time(getpid(), tid) - *idle_ns < tick_ns);
  stopping = true;
  stopping.notify_one();
  idle.join();
  // A join may return before the thread has ended.
  const Nanoseconds end_ns = monotonic_now() + 5 * kSecond;
  while (procfs::cpu_time(getpid(), tid) && monotonic_now() < end_ns) std::this_thread::yield();
  CHECK_FALSE(procfs::cpu_time(getpid(), tid));
}

}  // namespace causalctl

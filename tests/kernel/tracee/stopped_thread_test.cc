// Tests one thread of a busy target that this process has stopped.
#include "controller/tracee/inject/stopped_thread.h"

#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <optional>
#include <thread>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/tracee/guardian/priority_boost.h"
#include "controller/tracee/process.h"
#include "tests/kernel/tracee/target_process.h"

namespace causalctl::tracee {
namespace {

using test::BlockSigchld;
using test::program;
using test::TargetProcess;

Pid tracer_of(Pid pid, Tid tid) { return procfs::thread_status(pid, tid).value().tracer_pid; }

}  // namespace

TEST_CASE("no thread is used where no system-call instruction stands", "[tracee]") {
  const BlockSigchld block;
  TargetProcess target({program("target_waits"), "busy", "1"});
  const Tid tid = procfs::threads(target.pid()).back();
  const Address instruction = find_syscall_instruction(target.pid()).value();
  const auto stop = [&](Address address) {
    return StoppedThread::stop(target.pid(), tid, address, monotonic_now() + kSecond);
  };
  CHECK_FALSE(stop(instruction + 1).has_value());  // as after an exec
  CHECK_FALSE(stop(8).has_value());                // nothing is mapped there
  CHECK(tracer_of(target.pid(), tid) == 0);
  CHECK(stop(instruction).has_value());
  CHECK(tracer_of(target.pid(), tid) == 0);
}

TEST_CASE("a stop that came too late is waited for the next time", "[tracee]") {
  const BlockSigchld block;
  TargetProcess target({program("target_waits"), "busy", "1"});
  const Tid tid = procfs::threads(target.pid()).back();
  const Address instruction = find_syscall_instruction(target.pid()).value();
  // A thread may stop in time even then, more probably the more cores are idle.
  bool late = false;
  for (int tries = 0; !late && tries < 100; ++tries) {
    late = !StoppedThread::stop(target.pid(), tid, instruction, 0).has_value();
  }
  REQUIRE(late);
  REQUIRE(tracer_of(target.pid(), tid) == getpid());
  CHECK(StoppedThread::stop(target.pid(), tid, instruction, monotonic_now() + kSecond).has_value());
  CHECK(tracer_of(target.pid(), tid) == 0);
}

TEST_CASE("what a boosted thread starts is not boosted", "[tracee]") {
  if (geteuid() != 0) {
    WARN("needs root, for real-time priority");
    return;
  }
  const int before = sched_getscheduler(0);
  int during = -1, started = -1;
  {
    const PriorityBoost boost(0);
    during = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    std::thread([&started] { started = sched_getscheduler(0); }).join();
  }
  CHECK(during == SCHED_FIFO);
  CHECK(started == SCHED_OTHER);
  CHECK(sched_getscheduler(0) == before);
}

}  // namespace causalctl::tracee

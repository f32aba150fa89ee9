// Tests what `stacks` takes of real processes, and that they do not notice.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "controller/stacks/take.h"
#include "controller/stacks/walk.h"
#include "tests/kernel/tracee/target_process.h"
#include "unwind/stack/blocked_stack.h"

namespace causalctl::stacks {
namespace {

using report::stacks::State;
using report::stacks::Taken;
using report::stacks::Thread;
using tracee::test::eventually;
using tracee::test::program;
using tracee::test::TargetProcess;

const Hooks kHooks{[](std::size_t, std::size_t) {}};

bool names(const Thread& thread, const std::string& function) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [&](const auto& frame) {
    return frame.function.find(function) != std::string::npos;
  });
}

bool untraced(Pid pid) {
  const auto threads = procfs::threads(pid);
  return std::all_of(threads.begin(), threads.end(), [&](Tid tid) {
    const auto status = procfs::thread_status(pid, tid);
    return !status || status->tracer_pid == 0;
  });
}

// A new thread does not wait from its first moment on.
bool all_in_futex(Pid pid) {
  const auto threads = procfs::threads(pid);
  return std::all_of(threads.begin(), threads.end(), [&](Tid tid) {
    const auto at = unwind::off_core(pid, tid);
    return at && at->number == SYS_futex;
  });
}

// A thread has no caller in its first instructions, which no unwind table tells.
bool all_have_begun(Pid pid) {
  const auto threads = procfs::threads(pid);
  return std::all_of(threads.begin(), threads.end(), [&](Tid tid) {
    return procfs::cpu_time(pid, tid).value_or(0) > kMillisecond || tid == pid;
  });
}

bool all_stopped(Pid pid) {
  const auto threads = procfs::threads(pid);
  return std::all_of(threads.begin(), threads.end(),
                     [&](Tid tid) { return procfs::thread_status(pid, tid).value().state == 'T'; });
}

}  // namespace

TEST_CASE("running threads are stopped for their stacks, blocked ones are not", "[stacks]") {
  TargetProcess target({program("target_waits"), "busy", "2"});
  REQUIRE(eventually(5 * kSecond, [&] { return all_have_begun(target.pid()); }));
  const auto process = stacks_of(target.pid(), {}, kHooks);
  REQUIRE(process.threads.size() == 3);
  for (const Thread& thread : process.threads) {
    CAPTURE(thread.tid, thread.remark);
    CHECK(thread.complete);
    CHECK_FALSE(thread.frames.empty());
    const bool main = thread.tid == target.pid();
    CHECK(names(thread, main ? "main" : "start_thread"));
    if (thread.state != State::running) continue;
    CHECK(thread.taken == Taken::in_a_stop);
    CHECK(thread.held_ns > 0);
    CHECK(thread.held_ns <= thread.at_most_ns);
  }
  CHECK(untraced(target.pid()));
}

TEST_CASE("hundreds of blocked threads are read, and say in which call", "[stacks]") {
  constexpr std::size_t count = 300;
  TargetProcess target({program("target_waits"), "crowd", std::to_string(count)});
  REQUIRE(eventually(5 * kSecond, [&] { return all_in_futex(target.pid()); }));
  const auto process = stacks_of(target.pid(), {}, kHooks);
  CHECK(process.threads.size() == count + 1);
  for (const Thread& thread : process.threads) {
    CAPTURE(thread.tid, thread.remark);
    CHECK(thread.state == State::blocked);
    CHECK(thread.waits_in.starts_with("futex(0x"));
    CHECK(thread.complete);
  }
  CHECK(report::stacks::groups_of(process.threads).size() == 2);
  CHECK(untraced(target.pid()));
}

TEST_CASE("a stop for a stack disturbs no system call", "[stacks]") {
  const std::string kind = GENERATE("futex", "nanosleep", "ppoll", "epoll", "sigtimedwait", "read");
  CAPTURE(kind);
  TargetProcess target({program("target_waits"), kind, "15"});  // 750 ms
  int taken = 0;
  // It must not end meanwhile: it is our child, so that a wait for its stop would take its status.
  const Nanoseconds end_ns = monotonic_now() + 300 * kMillisecond;
  while (monotonic_now() < end_ns) {
    auto threads = threads_of(target.pid(), false);
    std::vector<ThreadState*> all;
    for (ThreadState& thread : threads) all.push_back(&thread);
    take_in_stops(target.pid(), all, copies_stack(target.pid()));
    for (const ThreadState& thread : threads) taken += thread.taken == Taken::in_a_stop ? 1 : 0;
    sleep_until(monotonic_now() + 3 * kMillisecond);
  }
  CHECK(taken > 0);
  CHECK(target.wait() == 0);
  CHECK(target.output().find("disturbed 0") != std::string::npos);
}

TEST_CASE("a process that a signal has stopped stays stopped", "[stacks]") {
  TargetProcess target({program("target_waits"), "busy", "2"});
  REQUIRE(eventually(5 * kSecond, [&] { return all_have_begun(target.pid()); }));
  REQUIRE(kill(target.pid(), SIGSTOP) == 0);
  REQUIRE(eventually(5 * kSecond, [&] { return all_stopped(target.pid()); }));
  for (const bool reference : {false, true}) {
    const auto process = stacks_of(target.pid(), {.reference = reference}, kHooks);
    CHECK(process.threads.size() == 3);
    for (const Thread& thread : process.threads) {
      CAPTURE(reference, thread.tid, thread.remark);
      CHECK(thread.state == State::stopped);
      CHECK(thread.complete);
    }
    CHECK(all_stopped(target.pid()));
    CHECK(untraced(target.pid()));
  }
  kill(target.pid(), SIGCONT);
  CHECK(eventually(5 * kSecond, [&] { return !all_stopped(target.pid()); }));
}

TEST_CASE("libunwind-ptrace finds the same callers", "[stacks]") {
  TargetProcess target({program("target_waits"), "crowd", "3"});
  REQUIRE(eventually(5 * kSecond, [&] { return all_in_futex(target.pid()); }));
  const auto ours = stacks_of(target.pid(), {}, kHooks);
  const auto reference = stacks_of(target.pid(), {.reference = true}, kHooks);
  REQUIRE(ours.threads.size() == reference.threads.size());
  for (std::size_t i = 0; i < ours.threads.size(); ++i) {
    const Thread& a = ours.threads[i];
    const Thread& b = reference.threads[i];
    CAPTURE(a.tid, a.remark, b.remark);
    CHECK(b.taken == Taken::in_a_stop);
    CHECK(a.complete);
    CHECK(b.complete);
    REQUIRE(a.frames.size() == b.frames.size());
    for (std::size_t j = 0; j < a.frames.size(); ++j) {
      CHECK(a.frames[j].function == b.frames[j].function);
      CHECK(a.frames[j].offset == b.frames[j].offset);
    }
  }
  CHECK(untraced(target.pid()));
}

TEST_CASE("no thread that wakes meanwhile is taken for a blocked one", "[stacks]") {
  TargetProcess target({program("target_waits"), "busy", "1"});
  const auto maps = procfs::maps(target.pid()).value();
  const Tid busy = procfs::threads(target.pid()).back();
  for (int i = 0; i < 100; ++i) {
    const auto read = unwind::read_blocked_stack(target.pid(), busy, maps);
    // It waits for a core, which is no block either.
    CHECK_FALSE(read.has_value());
  }
  // On a busy machine the first thread may not have come to its wait yet.
  CHECK(eventually(5 * kSecond, [&] {
    return unwind::read_blocked_stack(target.pid(), target.pid(), maps).has_value();
  }));
  CHECK_FALSE(unwind::read_blocked_stack(target.pid(), 0, maps).has_value());
}

}  // namespace causalctl::stacks

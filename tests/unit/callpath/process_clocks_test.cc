#include "controller/callpath/engine/process_clocks.h"

#include <catch2/catch.hpp>
#include <set>

namespace causalctl::callpath {
namespace {

// Processes whose CPU time the test says.
struct ClockScene {
  std::map<Pid, Nanoseconds> cpu_ns;
  std::set<Pid> zombies;

  ClockReader reader() {
    return {[this](Pid pid) {
              const auto known = cpu_ns.find(pid);
              return known == cpu_ns.end() ? std::nullopt : std::optional(known->second);
            },
            [this](Pid pid) { return zombies.contains(pid) || !cpu_ns.contains(pid); }};
  }
};

constexpr ThreadId kMake{10, 1}, kCompiler{11, 2};

perf::ThreadStartEvent thread_start(ThreadId thread, ThreadId parent, Nanoseconds time_ns) {
  return {thread, parent, time_ns, false, false, thread.tid};
}

perf::SwitchEvent core_switch(ThreadId thread, Nanoseconds time_ns, perf::SwitchKind kind) {
  return {thread, time_ns, 0, kind};
}

}  // namespace

TEST_CASE("what processes had used before the recording does not count", "[callpath][clocks]") {
  ClockScene scene{{{10, 500}, {12, 70}}, {}};
  ProcessClocks clocks(scene.reader(), {10, 12});
  clocks.start(1000);
  clocks.take(thread_start(kMake, {}, 900));
  scene.cpu_ns = {{10, 530}, {12, 71}};
  clocks.read();
  CHECK(clocks.cpu_ns() == 31);
  CHECK(clocks.size() == 2);
  scene.cpu_ns[13] = 9000;  // it joins by a program that it executes
  clocks.take(thread_start({13, 3}, {}, 1500));
  scene.cpu_ns[13] = 9004;
  clocks.read();
  CHECK(clocks.cpu_ns() == 35);
}

TEST_CASE("a child counts from its birth until its end, if it can be read then",
          "[callpath][clocks]") {
  ClockScene scene{{{10, 500}}, {}};
  ProcessClocks clocks(scene.reader(), {10});
  clocks.start(1000);
  clocks.take(thread_start(kMake, {}, 900));
  scene.cpu_ns[11] = 40;
  clocks.take(thread_start(kCompiler, kMake, 1100));
  scene.cpu_ns[11] = 90;
  scene.zombies.insert(11);
  clocks.take(core_switch(kCompiler, 1101, perf::SwitchKind::in));
  clocks.take(perf::ThreadExitEvent{kCompiler, 1195});  // the end of its exit is not recorded
  scene.cpu_ns.erase(11);
  clocks.read();
  CHECK(clocks.cpu_ns() == 90);
  CHECK_FALSE(clocks.has(11));
}

TEST_CASE("of a child that was gone before it was read its switches count", "[callpath][clocks]") {
  ClockScene scene{{{10, 500}}, {}};
  ProcessClocks clocks(scene.reader(), {10});
  clocks.start(1000);
  clocks.take(thread_start(kMake, {}, 900));
  clocks.take(thread_start(kCompiler, kMake, 1100));
  clocks.take(core_switch(kCompiler, 1101, perf::SwitchKind::in));
  clocks.take(core_switch(kCompiler, 1121, perf::SwitchKind::out_blocked));
  clocks.take(core_switch(kCompiler, 1151, perf::SwitchKind::in));
  clocks.take(perf::ThreadExitEvent{kCompiler, 1160});
  clocks.read();
  CHECK(clocks.cpu_ns() == 29);
}

TEST_CASE("a process that leaves the set does not count any more", "[callpath][clocks]") {
  ClockScene scene{{{10, 500}}, {}};
  ProcessClocks clocks(scene.reader(), {10});
  clocks.start(1000);
  clocks.take(thread_start(kMake, {}, 900));
  scene.cpu_ns[10] = 510;
  clocks.read();
  scene.cpu_ns[10] = 900;  // it has executed another program, and lives
  clocks.take(perf::ThreadExitEvent{kMake, 1300});
  clocks.read();
  CHECK(clocks.cpu_ns() == 10);
  CHECK(clocks.size() == 0);
}

TEST_CASE("a thread that gets a further number by exec goes on", "[callpath][clocks]") {
  ClockScene scene{{{10, 500}}, {}};
  ProcessClocks clocks(scene.reader(), {10});
  clocks.start(1000);
  clocks.take(thread_start(kMake, {}, 900));
  scene.cpu_ns[10] = 540;
  clocks.take(perf::ThreadExitEvent{kMake, 1300});
  clocks.take(thread_start({10, 5}, {}, 1300));
  clocks.read();
  CHECK(clocks.cpu_ns() == 40);
}

}  // namespace causalctl::callpath

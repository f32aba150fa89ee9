// None of these processes exists: all that is known of them is what events tell.
#include "controller/callpath/engine/processes.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>

namespace causalctl::callpath {
namespace {

constexpr Pid kFirst = 0x7f000000;  // above the largest number that the kernel gives

struct ToldFixture {
  ToldFixture() {
    processes.add(kFirst);
    starts(root, {});
    executes(root, 10, "/bin/make", 11);
  }

  void starts(ThreadId thread, ThreadId parent, Pid process = 0, Nanoseconds time_ns = 0) {
    processes.take(perf::ThreadStartEvent{thread, parent, time_ns, false, false,
                                          process == 0 ? thread.tid : process});
  }
  void ends(ThreadId thread, Nanoseconds time_ns) {
    processes.take(perf::ThreadExitEvent{thread, time_ns});
  }
  void exec(ThreadId thread, Nanoseconds time_ns, const std::string& name = "name") {
    processes.take(perf::ExecEvent{thread, time_ns, thread.tid});
    processes.take(perf::NameEvent{thread, time_ns, name});
  }
  void maps(Pid process, const std::string& path, Nanoseconds time_ns) {
    perf::MapEvent map;
    map.start = 0x10000000 + 0x1000 * static_cast<Address>(time_ns);
    map.length = 0x1000;
    map.inode = path.front() == '/' ? 77 : 0;
    map.path = path;
    map.time_ns = time_ns;
    map.process = process;
    processes.take(map);
  }
  void executes(ThreadId thread, Nanoseconds time_ns, const std::string& path,
                Nanoseconds mapped_ns) {
    exec(thread, time_ns);
    maps(thread.tid, path, mapped_ns);
  }
  std::string program(ThreadId thread) const { return of.at(thread)->program(); }
  std::uint64_t count(const std::string& name) const {
    for (const ProgramCount& each : recording.programs) {
      if (each.program == name) return each.processes;
    }
    return 0;
  }

  Recording recording;
  Places places{recording};
  std::map<ThreadId, std::shared_ptr<ProcessRun>> of;
  Processes processes{places, recording, [this](ThreadId thread, std::shared_ptr<ProcessRun> run) {
                        of[thread] = std::move(run);
                      }};
  const ThreadId root{kFirst, 1};
  const ThreadId child{kFirst + 1, 2};
};

}  // namespace

TEST_CASE("a child runs its parent's program until it executes another", "[callpath][set]") {
  ToldFixture fixture;
  CHECK(fixture.program(fixture.root) == "make");
  fixture.starts(fixture.child, fixture.root);
  CHECK(fixture.program(fixture.child) == "make");
  CHECK(fixture.of.at(fixture.child) != fixture.of.at(fixture.root));
  CHECK(fixture.count("make") == 2);
  fixture.exec(fixture.child, 20);
  CHECK(fixture.program(fixture.child) == "make");  // it is not named yet
  fixture.maps(fixture.child.tid, "[vdso]", 21);
  fixture.maps(fixture.child.tid, "/bin/gcc", 22);
  fixture.maps(fixture.child.tid, "/lib/ld.so", 23);
  CHECK(fixture.program(fixture.child) == "gcc");
  CHECK((fixture.count("make") == 1 && fixture.count("gcc") == 1));
  CHECK(fixture.recording.account.processes == 2);
}

TEST_CASE("an exec that is told after its mappings has the program's name", "[callpath][set]") {
  ToldFixture fixture;
  fixture.starts(fixture.child, fixture.root);
  fixture.maps(fixture.child.tid, "/lib/of_make.so", 19);
  fixture.maps(fixture.child.tid, "/bin/gcc", 21);
  fixture.maps(fixture.child.tid, "/lib/ld.so", 22);
  fixture.exec(fixture.child, 20);
  CHECK(fixture.program(fixture.child) == "gcc");
  fixture.maps(fixture.child.tid, "/lib/libc.so", 23);
  CHECK(fixture.program(fixture.child) == "gcc");
}

TEST_CASE("a mapping of before an exec does not name its program", "[callpath][set]") {
  ToldFixture fixture;
  fixture.starts(fixture.child, fixture.root);
  fixture.exec(fixture.child, 20);
  fixture.maps(fixture.child.tid, "/lib/of_make.so", 19);
  CHECK(fixture.program(fixture.child) == "make");
  fixture.maps(fixture.child.tid, "/bin/gcc", 21);
  CHECK(fixture.program(fixture.child) == "gcc");
}

TEST_CASE("a program without a mapping has the kernel's name", "[callpath][set]") {
  ToldFixture fixture;
  fixture.starts(fixture.child, fixture.root);
  fixture.exec(fixture.child, 20, "su");
  CHECK(fixture.program(fixture.child) == "make");
  const auto run = [&] { return fixture.of.at(fixture.child); };
  SECTION("once it ends") { fixture.ends(fixture.child, 30); }
  SECTION("after a while") {
    perf::SampleEvent sample;
    sample.thread = fixture.child;
    sample.time_ns = kSecond;
    fixture.processes.take(sample);
  }
  CHECK(run()->program() == "su");
}

TEST_CASE("a program that a second thread executes is of the same process", "[callpath][set]") {
  ToldFixture fixture;
  fixture.starts(fixture.child, fixture.root);
  const ThreadId second{kFirst + 2, 3};
  fixture.starts(second, fixture.child, fixture.child.tid);
  CHECK(fixture.of.at(second) == fixture.of.at(fixture.child));
  CHECK(fixture.processes.process_of(second) == fixture.child.tid);
  fixture.ends(fixture.child, 20);
  const ThreadId renamed{fixture.child.tid, 4};
  fixture.ends(second, 21);
  fixture.starts(renamed, {}, fixture.child.tid, 21);
  fixture.executes(renamed, 21, "/bin/gcc", 22);
  CHECK(fixture.program(renamed) == "gcc");
  CHECK(fixture.processes.process_of(renamed) == fixture.child.tid);
  CHECK((fixture.count("make") == 1 && fixture.count("gcc") == 1));
  CHECK(fixture.recording.account.processes == 2);
}

TEST_CASE("a number that is used again is another process", "[callpath][set]") {
  ToldFixture fixture;
  fixture.starts(fixture.child, fixture.root);
  fixture.executes(fixture.child, 20, "/bin/gcc", 21);
  fixture.ends(fixture.child, 30);
  const ThreadId later{fixture.child.tid, 9};
  fixture.starts(later, fixture.root, later.tid, 40);
  CHECK(fixture.program(later) == "make");
  CHECK(fixture.recording.account.processes == 3);
}

TEST_CASE("processes without threads are forgotten, but for the latest", "[callpath][set]") {
  ToldFixture fixture;
  constexpr int kMany = 100;
  for (int i = 1; i <= kMany; ++i) {
    const ThreadId brief{kFirst + i, static_cast<std::uint32_t>(100 + i)};
    fixture.starts(brief, fixture.root);
    CHECK(fixture.processes.places_of(brief.tid) != nullptr);
    CHECK(fixture.processes.latest().front() == brief.tid);
    fixture.ends(brief, 100 + i);
    CHECK(fixture.processes.process_of(brief) == 0);
  }
  fixture.processes.forget_ended();
  CHECK(fixture.processes.places_of(kFirst) != nullptr);
  CHECK(fixture.processes.places_of(kFirst + 1) == nullptr);
  CHECK(fixture.processes.places_of(kFirst + kMany) != nullptr);
  CHECK(fixture.recording.account.processes == kMany + 1);
}

TEST_CASE("in a recording of one process nothing is told of processes", "[callpath]") {
  Recording recording;
  Places places(recording);
  Processes processes(places, recording, {});
  processes.add(getpid());
  const ThreadId thread{getpid(), 1};
  processes.take(perf::ThreadStartEvent{thread, {}, 0, false, false, getpid()});
  processes.take(perf::ExecEvent{thread, 10, getpid()});
  CHECK(processes.process_of(thread) == getpid());
  CHECK(processes.stacks_of(thread).unwinder != nullptr);
  CHECK((recording.processes.empty() && recording.programs.empty()));
}

}  // namespace causalctl::callpath

#include "controller/callpath/engine/thread_groups.h"

#include <array>
#include <catch2/catch.hpp>

#include "controller/callpath/analysis/present.h"
#include "controller/callpath/record/limits.h"
#include "tests/unit/callpath/recordings.h"
#include "tests/unit/callpath/threads.h"

namespace causalctl::callpath {

using test::kOne;
using test::kTwo;

namespace {

constexpr ThreadId kThree{102, 3};

}  // namespace

TEST_CASE("a thread began with the first function of no run-time library", "[callpath]") {
  Recording r;
  r.modules = {{"/srv/prog", ""}, {"/lib/libc.so.6", ""}, {"/lib/libstdc++.so.6", ""}};
  const LocationId prog = add_location(r, 0, 0x10, true, {});
  const LocationId other = add_location(r, 0, 0x20, true, {});
  const LocationId libc = add_location(r, 1, 0x30, true, {});
  const LocationId cxx = add_location(r, 2, 0x40, true, {});
  CHECK(start_of({libc, libc, other, prog, libc}, r) == other);
  CHECK(start_of({libc, cxx, other}, r) == other);
  CHECK(start_of({prog, libc, libc, other, prog}, r) == other);  // _start, …, main
  CHECK(start_of({prog, other, libc}, r) == prog);
  CHECK(start_of({libc, libc}, r) == libc);
  CHECK(start_of({prog}, r) == prog);
}

TEST_CASE("threads with one start are a group, with the name of the function", "[callpath]") {
  Recording r = small_recording();
  r.groups.clear();
  ThreadGroups groups(Grouping::by_start, r);
  CHECK(groups.wants_start(kOne));
  const std::uint32_t unknown = groups.group_of(kOne);
  CHECK(r.groups[unknown].name == "[start not known]");
  groups.began(kOne, 0);
  groups.began(kTwo, 2);
  CHECK_FALSE(groups.wants_start(kOne));
  const std::uint32_t main = groups.group_of(kOne);
  const std::uint32_t worker = groups.group_of(kTwo);
  CHECK(main != worker);
  CHECK(groups.group_of(kThree) == unknown);
  groups.began(kThree, 2);
  CHECK(groups.group_of(kThree) == worker);
  CHECK(r.groups[worker].start == LocationId{2});
  CHECK(r.groups[worker].name == "server+0x1110");

  r.slices.clear();
  r.add({0, main, Metric::samples}, 1, 1);
  r.add({0, worker, Metric::samples}, 1, 1);
  std::vector<std::string> names;
  for (const auto& frame : present(std::array{r}).frames) {
    if (frame.is_group()) names.push_back(frame.function);
  }
  CHECK(names == std::vector<std::string>{"main", "a(int)"});
  groups.executed();
  CHECK(groups.wants_start(kOne));
  CHECK(groups.group_of(kOne) == unknown);
}

TEST_CASE("names beyond a few hundred are merged by pattern", "[callpath]") {
  CHECK(pattern_of("req-17") == "req-*");
  CHECK(pattern_of("conn 3fa9:b") == "conn *:b");
  CHECK(pattern_of("worker") == "worker");
  Recording r;
  ThreadGroups groups(Grouping::by_name, r);
  const auto group_named = [&](const std::string& name) {
    groups.named(kOne, name);
    return groups.group_of(kOne);
  };
  CHECK(group_named("main") == 0);
  for (int i = 0; i < 5000; ++i) group_named("req-" + std::to_string(i));
  CHECK(r.groups.size() == kMostNames + 1);
  CHECK(r.groups.back().name == "req-*");
  CHECK(group_named("main") == 0);
  CHECK(group_named("req-1") == 2);
  CHECK(r.account.names_merged == 5000 - kMostNames + 1);
  for (int i = 0; i < 500; ++i) group_named(std::string(1 + i % 100, 'a' + i % 26) + "1");
  CHECK(r.groups.size() == kMostNames + kMostPatterns + 1);
  CHECK(r.groups.back().name == "[other threads]");
}

TEST_CASE("threads of different processes are in different groups", "[callpath][set]") {
  Recording r = small_recording();
  r.groups.clear();
  ThreadGroups groups(Grouping::by_name, r);
  const ThreadId threads[] = {kOne, kTwo, kThree};
  for (const ThreadId thread : threads) groups.named(thread, "worker");
  ProcessList list(r);
  const auto first = list.began(7, "a", false);
  groups.belongs(kOne, first);
  groups.belongs(kTwo, first);
  groups.belongs(kThree, list.began(8, "b", false));
  CHECK(groups.group_of(kOne) == groups.group_of(kTwo));
  CHECK(groups.group_of(kOne) != groups.group_of(kThree));
  REQUIRE(r.groups.size() == 2);
  CHECK((r.groups[0].name == "worker" && r.groups[1].name == "worker"));
  CHECK((r.groups[0].process == 0U && r.groups[1].process == 1U));
  groups.belongs(kTwo, list.executed(first, "c"));
  CHECK_FALSE(groups.has_entry(kTwo));
  CHECK(r.processes.size() == 2);
  CHECK(r.groups[groups.group_of(kTwo)].process == 2U);
}

TEST_CASE("a thread of a process that executes a program has no known start", "[callpath][set]") {
  Recording r = small_recording();
  r.groups.clear();
  ThreadGroups groups(Grouping::by_start, r);
  ProcessList list(r);
  const auto first = list.began(7, "a", false);
  groups.belongs(kOne, first);
  groups.belongs(kTwo, list.began(8, "b", false));
  groups.began(kOne, 0);
  groups.began(kTwo, 0);
  CHECK(groups.group_of(kOne) != groups.group_of(kTwo));
  groups.belongs(kOne, first);
  CHECK_FALSE(groups.wants_start(kOne));
  groups.belongs(kOne, list.executed(first, "c"));
  CHECK(groups.wants_start(kOne));
  CHECK_FALSE(groups.wants_start(kTwo));
}

TEST_CASE("names of the threads of all processes are bounded", "[callpath][set]") {
  Recording r;
  ThreadGroups groups(Grouping::by_name, r);
  ProcessList list(r);
  for (std::uint32_t process = 0; process < 100; ++process) {
    groups.belongs(kOne, list.began(static_cast<Pid>(1 + process), "a", false));
    for (int i = 0; i < 300; ++i) {
      groups.named(kOne, "w" + std::to_string(i) + "x" + std::string(1 + i % 26, 'a'));
      CHECK(r.groups[groups.group_of(kOne)].process == process);
    }
  }
  CHECK(r.groups.size() <= kMostGroups + 2 * 100);
  CHECK(r.groups.back().name == kOtherThreads);
  CHECK(r.account.names_merged > 0);
}

}  // namespace causalctl::callpath

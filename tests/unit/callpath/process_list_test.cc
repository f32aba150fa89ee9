#include "controller/callpath/engine/process_list.h"

#include <catch2/catch.hpp>
#include <map>

#include "controller/callpath/record/limits.h"

namespace causalctl::callpath {
namespace {

// How many processes ran each program; without those that nobody ran.
std::map<std::string, std::uint64_t> counts_of_programs(const Recording& recording) {
  std::map<std::string, std::uint64_t> counts;
  for (const ProgramCount& each : recording.programs) {
    if (each.processes > 0) counts[each.program] += each.processes;
  }
  return counts;
}

using ProgramCounts = std::map<std::string, std::uint64_t>;

}  // namespace

TEST_CASE("a process has an entry for each program of which something is recorded",
          "[callpath][set]") {
  Recording r;
  ProcessList list(r);
  CHECK(list.began(100, "make", false)->number() == 0);
  const auto child = list.began(101, "make", true);
  CHECK(list.executed(child, "sh")->number() == 1);
  CHECK_FALSE(child->has_number());
  CHECK(child->number() == 2);                   // what was still to be told of it
  const auto sh = list.began(101, "sh", false);  // another process with the pid of one that ended
  CHECK(sh->number() == 3);
  CHECK(list.executed(sh, "sh") == sh);  // the same program again
  CHECK(r.account.processes == 3);
  REQUIRE(r.processes.size() == 4);
  CHECK((r.processes[1].pid == 101 && r.processes[1].program == "sh"));
  CHECK(r.account.processes_merged == 0);
}

TEST_CASE("a child that executes a program is none of its parent's", "[callpath][set]") {
  Recording r;
  ProcessList list(r);
  list.began(100, "sh", false);
  for (Pid pid = 101; pid <= 112; ++pid) {
    const auto child = list.began(pid, "sh", true);
    if (pid % 2 == 0) child->number();  // whether it was sampled in between makes no difference
    list.executed(child, "gcc");
  }
  CHECK(counts_of_programs(r) == ProgramCounts{{"sh", 1}, {"gcc", 12}});
  list.began(113, "sh", true);  // a subshell
  CHECK(counts_of_programs(r) == ProgramCounts{{"sh", 2}, {"gcc", 12}});
  CHECK(r.account.processes == 14);
}

TEST_CASE("a process that executes several programs ran each of them once", "[callpath][set]") {
  Recording r;
  ProcessList list(r);
  auto run = list.began(100, "make", true);
  for (const char* program : {"sh", "env", "sh", "gcc"}) run = list.executed(run, program);
  CHECK(counts_of_programs(r) == ProgramCounts{{"sh", 1}, {"env", 1}, {"gcc", 1}});
  run = list.executed(list.began(101, "make", true), "make");  // make -C
  list.executed(run, "sh");
  CHECK(counts_of_programs(r) == ProgramCounts{{"make", 1}, {"sh", 2}, {"env", 1}, {"gcc", 1}});
  CHECK(r.account.processes == 2);
}

TEST_CASE("children that execute programs use up one entry each", "[callpath][set]") {
  Recording r;
  ProcessList list(r);
  list.began(100, "make", false)->number();
  for (Pid pid = 101; pid <= 700; ++pid) {
    list.executed(list.began(pid, "make", true), "cc1")->number();
  }
  CHECK(counts_of_programs(r) == ProgramCounts{{"make", 1}, {"cc1", 600}});
  CHECK(r.processes.size() == kMostProcesses + 1);
  CHECK(r.processes.back().pid == 0);
  CHECK(r.account.processes_merged == 601 - kMostProcesses);
}

TEST_CASE("processes beyond some hundreds share an entry with those of their program",
          "[callpath][set]") {
  Recording r;
  ProcessList list(r);
  const auto pid = [](std::size_t i) { return static_cast<Pid>(1000 + i); };
  for (std::size_t i = 0; i < 10'000; ++i) {
    const auto run = list.began(pid(i), i % 2 == 0 ? "cc1" : "as", false);
    run->number();
    run->number();
  }
  CHECK(r.account.processes == 10'000);
  CHECK(r.account.processes_merged == 10'000 - kMostProcesses);
  REQUIRE(r.processes.size() == kMostProcesses + 2);
  CHECK((r.processes[kMostProcesses].pid == 0 && r.processes[kMostProcesses].program == "cc1"));
  CHECK(counts_of_programs(r) == ProgramCounts{{"cc1", 5'000}, {"as", 5'000}});
  // One that shares an entry with each of two programs is one process.
  const auto run = list.began(1, "as", false);
  run->number();
  CHECK(list.executed(run, "ld")->number() == kMostProcesses + 2);
  CHECK(r.account.processes_merged == 10'001 - kMostProcesses);
  for (int i = 0; i < 1'000; ++i) list.began(i + 2, "test-" + std::to_string(i), false)->number();
  CHECK(r.processes.size() == kMostProcesses + kMostSharedPrograms + 1);
  CHECK(r.processes.back().program == kOtherPrograms);
  CHECK(r.programs.size() == kMostPrograms + 1);
  CHECK(counts_of_programs(r)[kOtherPrograms] == 1'000 - (kMostPrograms - 3));
}

}  // namespace causalctl::callpath

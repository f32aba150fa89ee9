#include "controller/callpath/process_list.h"

#include <catch2/catch.hpp>

namespace causalctl::callpath {

TEST_CASE("a process that executes another program is a further entry", "[callpath][set]") {
  Recording r;
  ProcessList list(r);
  CHECK(list.began(100, "make") == 0);
  CHECK(list.began(101, "make") == 1);
  CHECK(list.executed(101, "sh") == 2);
  CHECK(list.executed(101, "sh") == 2);  // the same program again
  CHECK(list.began(101, "sh") == 3);     // another process with the pid of one that has ended
  CHECK(r.account.processes == 3);
  REQUIRE(r.processes.size() == 4);
  CHECK((r.processes[2].pid == 101 && r.processes[2].program == "sh"));
  CHECK(r.shared.empty());
}

TEST_CASE("processes beyond some hundreds share an entry with those of their program",
          "[callpath][set]") {
  Recording r;
  ProcessList list(r);
  const auto pid = [](std::size_t i) { return static_cast<Pid>(1000 + i); };
  for (std::size_t i = 0; i < 10'000; ++i) list.began(pid(i), i % 2 == 0 ? "cc1" : "as");
  CHECK(r.account.processes == 10'000);
  REQUIRE(r.processes.size() == kMostProcesses + 2);
  REQUIRE(r.shared.size() == 2);
  CHECK(r.processes.back().pid == 0);
  CHECK(r.processes[r.shared[0].process].program == "cc1");
  CHECK(r.shared[0].count + r.shared[1].count == 10'000 - kMostProcesses);
  CHECK(list.executed(pid(0), "ld") == kMostProcesses + 2);  // there is no room for a fresh entry
  for (int i = 0; i < 500; ++i) list.began(i + 1, "test-" + std::to_string(i));
  CHECK(r.processes.size() == kMostProcesses + kMostSharedPrograms + 1);
  CHECK(r.processes.back().program == kOtherPrograms);
  CHECK(r.shared.back().count == 500 - (kMostSharedPrograms - 3));
}

}  // namespace causalctl::callpath

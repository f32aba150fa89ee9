#include "controller/compare/usage.h"

#include <catch2/catch.hpp>

namespace causalctl::compare {

TEST_CASE("numbers are found by their whole name", "[compare]") {
  const char* text = "Name:\tx VmRSS: 1\nVmRSSx:\t2 kB\nVmRSS:\t  1234 kB\nnonvoluntary:\t5\n";
  REQUIRE(status_number(text, "VmRSS") == 1234);
  REQUIRE(status_number(text, "voluntary") == 0);
  REQUIRE(status_number(text, "nonvoluntary") == 5);
  REQUIRE(status_number("", "VmRSS") == 0);
  REQUIRE(status_number("VmRSS:", "VmRSS") == 0);
}

TEST_CASE("what was used between: the difference, and all of what is new", "[compare]") {
  const Snapshot before = {{{1, {100, 5, 5}}, {2, {50, 9, 9}}}, {{1, 10}, {2, 20}}};
  const Snapshot after = {{{1, {160, 8, 6}}, {3, {7, 2, 1}}}, {{1, 15}, {3, 4}}};
  const Usage usage = used_between(before, after);
  REQUIRE(usage.cpu_ns == 67);
  REQUIRE(usage.switches == 9);
  REQUIRE(usage.peak_bytes == 10);
  REQUIRE(usage.now_bytes == 7);
}

TEST_CASE("what ended children have used counts, and only once", "[compare]") {
  // Process 2 had used 50 when the window began, and 80 when it ended within it, so 30 belong to
  // the window.
  const Snapshot before = {{{1, {100, 5, 5, 10}}, {2, {50, 9, 9, 0}}}, {}};
  const Snapshot after = {{{1, {160, 8, 6, 90}}}, {}};
  REQUIRE(used_between(before, after).cpu_ns == 60 + 30);
  // The use of a process that was not waited for is unknown.
  const Snapshot lost = {{{1, {160, 8, 6, 10}}}, {}};
  REQUIRE(used_between(before, lost).cpu_ns == 60);
}

TEST_CASE("a number that another process has now is not counted below zero", "[compare]") {
  const Snapshot before = {{{1, {100, 5, 5}}}, {{1, 10}}};
  const Snapshot after = {{{1, {3, 8, 6}}}, {{1, 2}}};
  REQUIRE(used_between(before, after).cpu_ns == 0);
  REQUIRE(used_between(before, after).switches == 0);
}

}  // namespace causalctl::compare

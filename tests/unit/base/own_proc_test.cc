#include "controller/base/own_proc.h"

#include <catch2/catch.hpp>

namespace causalctl {

using Catch::Contains;

TEST_CASE("the PIDs of /proc are ours, or it is said whose they are", "[own_proc]") {
  ProcSeen seen{true, "4711", "Name:\tx\nNSpid:\t4711\nVmPeak:\t1\n", "pid:[7]", "pid:[7]"};
  CHECK_FALSE(judge_proc(seen, 4711));
  seen.status = "Name:\tx\n";  // of an old kernel
  CHECK_FALSE(judge_proc(seen, 4711));

  seen.of_first = "pid:[1]";
  const auto other = judge_proc(seen, 5);
  REQUIRE(other);
  CHECK_THAT(other->what, Contains("another PID namespace (pid:[1])") &&
                              Contains("process 5 in its own (pid:[7]), is 4711 there"));
  CHECK_THAT(other->hint, Contains("mount -t proc") && Contains("nsenter"));

  // The same number by chance.
  seen.status = "Name:\tx\nNSpid:\t4711\t4711\nVmPeak:\t1\n";
  CHECK(judge_proc(seen, 4711));
}

TEST_CASE("a /proc that is not there is no other namespace's", "[own_proc]") {
  const auto missing = judge_proc({false, "", "", "", ""}, 5);
  REQUIRE(missing);
  CHECK_THAT(missing->what, Contains("/proc is not mounted"));
  // It is one of a namespace in which we are not.
  const auto other = judge_proc({true, "", "", "", "pid:[1]"}, 5);
  REQUIRE(other);
  CHECK_THAT(other->what,
             Contains("another PID namespace (pid:[1])") && Contains("not seen there"));
}

TEST_CASE("the /proc of this test is its own", "[own_proc]") { CHECK_FALSE(trouble_of_proc()); }

}  // namespace causalctl

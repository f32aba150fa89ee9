#include "controller/compare/ready.h"

#undef CHECK  // ours; from here on it is Catch2's
#include <catch2/catch.hpp>

using namespace causalctl::compare;

TEST_CASE("a line of the output that matches means ready", "[compare]") {
  const ReadyPattern pattern("^listening on");
  REQUIRE_FALSE(pattern.find(""));
  REQUIRE_FALSE(pattern.find("starting\nnot listening on\n"));
  REQUIRE(pattern.find("starting\nlistening on 80\n"));
  REQUIRE(pattern.find("listening on 8"));
  REQUIRE(pattern.find("listening on 80")->pid == 0);
}

TEST_CASE("a group is the process id, once its line is complete", "[compare]") {
  const ReadyPattern pattern("ready (\\d+)");
  REQUIRE_FALSE(pattern.find("x\nready 47"));
  REQUIRE(pattern.find("x\nready 4711\n")->pid == 4711);
  REQUIRE(pattern.find("ready 99999999999999\n")->pid == 0);
}

TEST_CASE("a line without end is no danger to the pattern", "[compare]") {
  const ReadyPattern pattern("(a|b)*c$");
  REQUIRE_FALSE(pattern.find(std::string(1 << 20, 'a') + "\n"));
}

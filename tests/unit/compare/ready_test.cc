#include "controller/compare/ready.h"

#include <catch2/catch.hpp>

namespace causalctl::compare {

TEST_CASE("a line of the output that matches means ready", "[compare]") {
  const auto find = [](const char* output) { return ReadyPattern("^listening on").find(output); };
  REQUIRE_FALSE(find(""));
  REQUIRE_FALSE(find("starting\nnot listening on\n"));
  REQUIRE(find("starting\nlistening on 80\n"));
  REQUIRE(find("listening on 8"));
  REQUIRE(find("listening on 80")->pid == 0);
}

TEST_CASE("a group is the process id, once its line is complete", "[compare]") {
  ReadyPattern pattern("ready (\\d+)");
  REQUIRE_FALSE(pattern.find("x\nready 47"));
  REQUIRE(pattern.find("11\n")->pid == 4711);
  REQUIRE(ReadyPattern("ready (\\d+)").find("ready 99999999999999\n")->pid == 0);
}

TEST_CASE("an output comes in pieces, and none is looked at twice", "[compare]") {
  ReadyPattern pattern("^ready$");
  REQUIRE_FALSE(pattern.find("starting\nrea"));
  REQUIRE_FALSE(pattern.find(""));
  REQUIRE_FALSE(pattern.find("dy now\nal"));
  REQUIRE_FALSE(pattern.find("ready\n"));  // it is not a line of its own
  REQUIRE(pattern.find("ready\n"));

  ReadyPattern unfinished("^listening");
  REQUIRE_FALSE(unfinished.find("listen"));
  REQUIRE(unfinished.find("ing on"));
}

TEST_CASE("no pattern takes more time than its line is long", "[compare]") {
  ReadyPattern words("^(\\w+ ?)+ on [0-9]+$");
  REQUIRE_FALSE(words.find("a line of words that goes on and on, without the end of it\n"));
  REQUIRE_FALSE(ReadyPattern("(a|aa)*ready").find(std::string(4096, 'a') + "\n"));
  REQUIRE(words.find("listening on 80\n"));
}

TEST_CASE("a line without end is no danger to the pattern", "[compare]") {
  ReadyPattern pattern("(a|b)*c$");
  for (int i = 0; i < 16; ++i) REQUIRE_FALSE(pattern.find(std::string(1 << 16, 'a')));
  REQUIRE_FALSE(pattern.find("d"));
  REQUIRE(pattern.find("abc"));
  REQUIRE_FALSE(pattern.find("d\n"));
  REQUIRE(pattern.find("abc\n"));
}

TEST_CASE("a match is found anywhere in a line of any length", "[compare]") {
  for (const std::size_t length : {4080, 4096, 65535, 65536, 1 << 20}) {
    INFO(length);
    const std::string dots(length, '.');
    REQUIRE(ReadyPattern("ready").find(dots + " ready\n"));
    REQUIRE(ReadyPattern("ready$").find(dots + " ready\n"));
    REQUIRE(ReadyPattern("ready (\\d+)").find(dots + " ready 47 " + dots + "\n")->pid == 47);
    ReadyPattern pieces("ready (\\d+)");
    for (int i = 0; i < 3; ++i) REQUIRE_FALSE(pieces.find(dots));
    REQUIRE_FALSE(pieces.find(" ready 47"));
    REQUIRE_FALSE(pieces.find("11"));
    REQUIRE(pieces.find(" " + dots + dots + "\n")->pid == 4711);
    ReadyPattern first("^\\.ready");
    REQUIRE_FALSE(first.find(dots));
    REQUIRE_FALSE(first.find(dots));
    REQUIRE_FALSE(first.find(".ready"));  // which begins no line
    REQUIRE(first.find("\n.ready"));
  }
}

TEST_CASE("a carriage return begins a line, as a display of progress does", "[compare]") {
  ReadyPattern pattern("^ready (\\d+)$");
  for (int i = 0; i < 1000; ++i) REQUIRE_FALSE(pattern.find("loading ready 1\r"));
  REQUIRE(pattern.find("ready 4711\r\n")->pid == 4711);
  REQUIRE(ReadyPattern("^ready$").find("loading\rready\r\n"));
}

}  // namespace causalctl::compare

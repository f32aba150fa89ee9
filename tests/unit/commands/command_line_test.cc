#include "controller/commands/command_line.h"

#include <catch2/catch.hpp>

namespace causalctl::commands {

TEST_CASE("white space around a PID means nothing, and alone no process", "[command_line]") {
  CHECK(process_of("4711") == 4711);
  CHECK(process_of(" 4711\n") == 4711);
  for (const char* empty : {"", " ", "\n"}) CHECK_THROWS_AS(process_of(empty), UsageError);
  CHECK_THROWS_AS(process_of("0"), UsageError);
}

TEST_CASE("a program may follow an option whose value is optional", "[command_line]") {
  using Words = std::vector<std::string>;
  CHECK(words_for_parser({"callpath", "--children", "--", "make", "-j2"}) ==
        Words{"-j2", "make", "--", "--", "--children", "callpath"});
  CHECK(words_for_parser({"callpath", "--children", "12", "--", "a"}) ==
        Words{"a", "--", "--", "12", "--children", "callpath"});
  CHECK(words_for_parser({"callpath", "--children", "--quiet", "--", "a"}) ==
        Words{"a", "--", "--quiet", "--children", "callpath"});
  CHECK(words_for_parser({"run", "--", "a", "--children", "--", "b"}) ==
        Words{"b", "--", "--children", "a", "--", "run"});
  CHECK(words_for_parser({"stacks", "--children", "12"}) == Words{"12", "--children", "stacks"});
  CHECK(words_for_parser({"stacks", "--children", "12", "--", "a"}) ==
        Words{"a", "--", "12", "--children", "stacks"});
  CHECK(words_for_parser({"--"}) == Words{"--"});
  CHECK(words_for_parser({}).empty());
  CHECK_THROWS_AS(words_for_parser({"stacks", "--children", ""}), UsageError);
  CHECK(words_for_parser({"run", "--", "a", "--children", ""}).front().empty());  // the program's
}

}  // namespace causalctl::commands

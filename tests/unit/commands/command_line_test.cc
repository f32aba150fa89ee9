#include "controller/commands/command_line.h"

#include <catch2/catch.hpp>

namespace causalctl::commands {

TEST_CASE("white space around a PID means nothing, and alone no process", "[command_line]") {
  CHECK(process_of("4711") == 4711);
  CHECK(process_of(" 4711\n") == 4711);
  for (const char* empty : {"", " ", "\n"}) CHECK_THROWS_AS(process_of(empty), UsageError);
  CHECK_THROWS_AS(process_of("0"), UsageError);
}

}  // namespace causalctl::commands

// Two source files, or two functions, that debug information gives one path are told apart.
#include <catch2/catch.hpp>
#include <string>

#include "tests/kernel/progress/counted_program.h"

using Catch::Matchers::Contains;
using causalctl::counted::kRounds;
using causalctl::counted::Program;

namespace {

// The same file compiled twice has two units of one path, as -ffile-prefix-map makes of two files.
constexpr const char* kSource = R"(volatile long x;
__attribute__((noinline)) static void helper(long n) { x = x + n; }
#ifdef OTHER
void other(long n) { helper(n); helper(n); }
#else
void other(long n);
volatile long truth;
void work(long n) { helper(n); other(n); truth = truth + 3; }
#endif
)";

}  // namespace

TEST_CASE("static functions of two files with one path are different ones", "[progress]") {
  Program program(kSource, "gcc -O1 -g -fcommon", "-DOTHER prog.c");
  CHECK_THAT(program.told("helper"), Contains("different functions have this name") &&
                                         Contains("helper at ") && Contains("prog+0x"));
  CHECK_THAT(program.told("prog.c:2"),
             Contains("prog.c:2 is in different functions, all counted: helper, another helper"));
  CHECK(program.count("prog.c:2").visits == 3 * kRounds);
}

// Names that assemblers and objcopy allow, but compilers do not make.
#include <catch2/catch.hpp>
#include <string>

#include "config/config.h"
#include "controller/causal/experiments/fixed_unit.h"
#include "tests/kernel/progress/counted_program.h"

using causalctl::counted::kRounds;
using causalctl::counted::Program;

TEST_CASE("a function whose name looks like another form can be named", "[progress]") {
  Program program(R"(volatile long truth;
#define F(f, name) void f(void) __asm__("\"" name "\""); \
  __attribute__((noinline)) void f(void) { truth = truth + 1; }
F(f1, "foo:bar") F(f2, "foo+0x10") F(f3, "gr\303\274n@home$1") F(f4, "a:b:c") F(f5, "line.c:12")
F(f6, "usdt:a:b") F(f7, "3d")
void work(long n) { if (n % 2) return; f1(); f2(); f3(); f4(); f5(); f6(); f7(); }
)",
                  "gcc -O1");
  causalctl::config::Scope scope;
  for (const std::string name :
       {"foo:bar", "foo+0x10", "gr\303\274n@home$1", "a:b:c", "line.c:12", "usdt:a:b", "3d"}) {
    CAPTURE(name);
    CHECK(program.count(name).visits == kRounds / 2);
    CHECK_FALSE(causalctl::causal::fixed_unit(name, scope, program.symbolizer()).identity.empty());
  }
  CHECK_THAT(program.told("foo:baz"), Catch::Matchers::Contains("no binary 'foo'"));
  CHECK_THAT(program.told("a:b:d"), Catch::Matchers::Contains("a ':' too many"));
}

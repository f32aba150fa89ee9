// --fixed against functions of this program, which has line information.
#include "controller/causal/experiments/fixed_unit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "controller/base/error.h"
#include "tests/kernel/unwind/symbol_checks.h"
#include "tests/kernel/unwind/target_program.h"

#ifdef __clang__  // clang does not know noclone, and makes no clones
#define CAUSALCTL_KEPT __attribute__((noinline))
#else
#define CAUSALCTL_KEPT __attribute__((noinline, noclone))
#endif

// The function must stay itself under all of these names.
namespace fixed_unit_test {

volatile double sink;

constexpr int kLineOfWorkOnce = __LINE__ + 1;
CAUSALCTL_KEPT void work_once(double by) { sink = sink + by; }
CAUSALCTL_KEPT void work_twice(int by) { sink = sink + by; }
CAUSALCTL_KEPT void work_twice(double by) { sink = sink * by; }
template <typename Number, int kFactor>
CAUSALCTL_KEPT void work_any(Number by) {
  sink = sink + kFactor * by;
}

}  // namespace fixed_unit_test

// Both have this name without their parameters; one has no other name.
CAUSALCTL_KEPT void fixed_unit_plain(double by) {
  fixed_unit_test::sink = fixed_unit_test::sink - by;
}
extern "C" CAUSALCTL_KEPT void fixed_unit_plain() {
  fixed_unit_test::sink = fixed_unit_test::sink + 1;
}

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

class Asked {
 public:
  Asked() { scope.unit = config::Unit::function; }
  std::string operator()(const std::string& name) {
    return fixed_unit(name, scope, symbolizer_).identity;
  }
  std::string refusal(const std::string& name) {
    try {
      (*this)(name);
    } catch (const UsageError& error) {
      return std::string(error.what()) + "\n" + error.hint();
    }
    return "";
  }
  config::Scope scope;

 private:
  unwind::Symbolizer symbolizer_{getpid()};
};

}  // namespace

TEST_CASE("--fixed takes names as progress points do, and refuses what gets no sample",
          "[causal][fixed]") {
  fixed_unit_test::work_once(1);
  fixed_unit_test::work_twice(1);
  fixed_unit_test::work_twice(1.5);
  fixed_unit_test::work_any<int, 3>(1);
  fixed_unit_plain(1);
  fixed_unit_plain();
  Asked asked;

  SECTION("short, with a namespace, whole, with a file or a binary") {
    const char* whole = ":fixed_unit_test::work_once(double)";
    for (const char* name :
         {"work_once", "fixed_unit_test::work_once", whole + 1, "fixed_unit_test.cc:work_once",
          "kernel_tests:work_once", "kernel*:fixed_unit_test::work_once"}) {
      INFO(name);
      CHECK_THAT(asked(name), EndsWith(whole));
    }
    CHECK_THAT(asked("work_any"), Contains("fixed_unit_test::work_any<int, 3>(int)"));
    CHECK(asked(asked("work_once")) == asked("work_once"));
  }
  SECTION("several are listed") {
    CHECK_THAT(asked.refusal("work_twice"), Contains("is ambiguous") &&
                                                Contains("fixed_unit_test::work_twice(int)") &&
                                                Contains("fixed_unit_test::work_twice(double)"));
    CHECK_THAT(asked("fixed_unit_test::work_twice(int)"), EndsWith("work_twice(int)"));
    CHECK_THAT(asked("fixed_unit_plain"), EndsWith(":fixed_unit_plain"));
    asked.scope.binaries.emplace_back("kernel*");  // matches MAIN, so the program is in scope twice
    CHECK_THAT(asked("work_once"), EndsWith("work_once(double)"));
  }
  SECTION("what is nowhere, or elsewhere") {
    CHECK_THAT(asked.refusal("work_onc"), Contains("no such function") && Contains("work_once"));
    CHECK_THAT(asked.refusal("other.cc:work_once"), Contains("there is:"));
    CHECK_THAT(asked.refusal("hcreate"),
               Contains("not in scope") && Contains("--scope-binary MAIN"));
    asked.scope.binaries.emplace_back("libnotloadedyet.so");
    CHECK(asked("no_such_function") == "");
  }
  SECTION("a line that has no code, and one of several files") {
    CHECK_THAT(
        asked.refusal("fixed_unit_test.cc:1"),
        Contains("no code for this line") && Contains("the nearest lines that have code are:") &&
            Contains(fmt::format("fixed_unit_test.cc:{}", fixed_unit_test::kLineOfWorkOnce)));
    CHECK_THAT(asked.refusal("no_such_file.cc:1"), Contains("no code for this line in the target"));
    CHECK_THAT(asked.refusal("twin.cc:7"), Contains("several files have this name") &&
                                               Contains("twin_a/twin.cc:7") &&
                                               Contains("twin_b/twin.cc:7"));
  }
  SECTION("a unit of the other kind") {
    const auto line = fmt::format("fixed_unit_test.cc:{}", fixed_unit_test::kLineOfWorkOnce);
    CHECK_THAT(asked.refusal(line), Contains("--unit function"));
    asked.scope.unit = config::Unit::automatic;
    CHECK(asked(line) == "");
    CHECK_THAT(asked.refusal("work_once"), Contains("lines are the units") && Contains(line));
    asked.scope.binaries = {"libc.so.6"};
    CHECK_THAT(asked.refusal(line), Contains("not in scope"));
  }
}

// As reports call it.
TEST_CASE("--fixed takes a function without a name by its place", "[causal][fixed]") {
  const unwind::TemporaryDirectory directory;
  const unwind::TargetProgram target(unwind::stripped_copy(directory, "--strip-all"));
  unwind::Symbolizer symbolizer(target.pid());
  const Address entry = target.entry("original");
  const std::string name = symbolizer.frames(entry).front().function;
  CHECK_THAT(name, Contains("+0x"));
  config::Scope scope;
  const auto identity = fixed_unit(name, scope, symbolizer).identity;
  CHECK_THAT(identity, EndsWith(":" + name));
  CHECK(fixed_unit(identity, scope, symbolizer).identity == identity);
  const auto plus = name.rfind("+0x");
  const auto offset = std::stoul(name.substr(plus + 3), nullptr, 16);
  const auto inside = fmt::format("{}+{:#x}", name.substr(0, plus), offset + 1);
  CHECK(fixed_unit(inside, scope, symbolizer).identity == identity);
  CHECK(fixed_unit(name + " < " + name, scope, symbolizer).path);
  CHECK_THROWS_WITH(fixed_unit(name.substr(0, plus) + "+0x1000", scope, symbolizer),
                    Contains("no function is known at this place"));
  scope.binaries = {"libc.so.6"};
  CHECK_THROWS_WITH(fixed_unit(name, scope, symbolizer), Contains("not in scope"));
  CHECK_THROWS_WITH(fixed_unit("nobody+0x10", scope, symbolizer), Contains("no such function"));
}

}  // namespace causalctl::causal

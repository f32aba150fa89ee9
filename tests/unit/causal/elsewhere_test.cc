// Tests samples that no unit in scope got, and frames that are everybody's callers.
#include "controller/causal/analysis/elsewhere.h"

#include <catch2/catch.hpp>
#include <string>

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;

UnitSamples samples_of(const std::string& function, std::uint64_t count, std::uint64_t inherited,
                       bool is_line = false) {
  return {{is_line ? "python.c:15" : function, is_line, function, "", 0}, count, 0, inherited};
}

TEST_CASE("what starts a program is everybody's caller", "[causal][elsewhere]") {
  CHECK(is_everybodys_caller(samples_of("_start", 10, 0), 1000));
  CHECK(is_everybodys_caller(samples_of("__libc_start_main", 990, 990), 1000));
  CHECK(is_everybodys_caller(samples_of("main", 990, 990), 1000));
  CHECK(is_everybodys_caller(samples_of("main", 990, 990, true), 1000));
}

TEST_CASE("a main that works, or shares the program with others, is not", "[causal][elsewhere]") {
  CHECK_FALSE(is_everybodys_caller(samples_of("main", 990, 989), 1000));
  CHECK_FALSE(is_everybodys_caller(samples_of("main", 900, 900), 1000));
  CHECK_FALSE(is_everybodys_caller(samples_of("work", 1000, 1000), 1000));
}

TEST_CASE("the pattern of a library fits its other versions", "[causal][elsewhere]") {
  CHECK(pattern_of("libpython3.11.so.1.0") == "libpython3.11*");
  CHECK(pattern_of("libc.so.6") == "libc*");
  CHECK(pattern_of("java") == "java");
}

Elsewhere python() {
  Elsewhere found;
  found.samples = found.charged = 1000;
  found.by_binary = {{"libpython3.11.so.1.0", 900}, {"libc.so.6", 50}, {"[vdso]", 50}};
  return found;
}

TEST_CASE("the binaries that have the samples are named", "[causal][elsewhere]") {
  const std::string text = describe(python()).value();
  CHECK(text == "90 % of the samples are in libpython3.11.so.1.0: --scope-binary 'libpython3.11*'");
}

TEST_CASE("code compiled at run time is called that", "[causal][elsewhere]") {
  Elsewhere found = python();
  found.by_binary = {{"", 990}};
  CHECK_THAT(describe(found).value(),
             Contains("99 % of the samples") && Contains("compiled at run time"));
}

TEST_CASE("half of the samples are enough, and some in a scope that was chosen",
          "[causal][elsewhere]") {
  Elsewhere found = python();
  found.had = 499;
  CHECK(describe(found).has_value());
  found.scope.binaries = {"MAIN", "libc*"};
  CHECK_FALSE(describe(found).has_value());
  found.scope = {};
  found.had = 500;
  CHECK_FALSE(describe(found).has_value());
}

TEST_CASE("a scope without any sample is said to be that", "[causal][elsewhere]") {
  Elsewhere found = python();
  found.charged = 0;
  found.scope.binaries = {"nosuch*"};
  CHECK_THAT(describe(found).value(),
             Contains("none of 1000 samples has a frame in scope (--scope-binary nosuch*)") &&
                 Contains("libpython3.11*"));
  found.unmatched_files = "no source file matches --scope-file 'x.c'";
  CHECK_THAT(describe(found).value(), Contains("; no source file matches --scope-file 'x.c'"));
}

TEST_CASE("samples that lack a table are told from a tenth on", "[causal][elsewhere]") {
  WithoutTables found;
  found.samples = 1000;
  found.cut_off = {{"libgmp.so.10.4.1", 100}, {"libz.so.1", 99}};
  found.nameless = {{"server", 600}};
  const auto texts = describe(found);
  REQUIRE(texts.size() == 2);
  CHECK_THAT(texts[0],
             Contains("10 % of the samples belong to nobody: they are in libgmp.so.10.4.1"));
  CHECK_THAT(texts[1],
             Contains("60 % of the samples are in code of server that has no function table: "));
  found.cut_off = {{"", 500}};
  CHECK_THAT(describe(found).front(), Contains("they are in code compiled at run time"));
  CHECK(describe(WithoutTables{}).empty());
}

}  // namespace
}  // namespace causalctl::causal

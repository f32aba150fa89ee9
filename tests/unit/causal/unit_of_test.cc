// Which unit an address belongs to (Coz section 3.4.2).
#include "controller/causal/engine/unit_of.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace causalctl::causal {
namespace {

using unwind::Frame;

const symbols::Location kInlined = {
    0x1010,
    "/usr/bin/server",
    {{"std::max", "/usr/include/c++/12/bits/stl_algobase.h", 254, 0},
     {"clamp", "/src/lib/clamp.h", 9, 0},
     {"work", "/src/app/work.cc", 42, 0x1000}},
    true,
    Frame{"work", "/src/app/work.cc", 40, 0x1000}};

symbols::Location without_lines(std::vector<Frame> frames) {
  return {0x1010, "/usr/bin/server", std::move(frames)};
}

TEST_CASE("the innermost frame that is not the library's is the line", "[causal][attribution]") {
  const auto unit = unit_of(kInlined, {});
  REQUIRE(unit);
  CHECK(unit->is_line);
  CHECK(unit->name == "clamp.h:9");
  CHECK(unit->function == "clamp");
  CHECK(unit->file == "/src/lib/clamp.h");
}

TEST_CASE("a file scope charges inlined code to the line that called it", "[causal][attribution]") {
  config::Scope scope;
  scope.files = {"app/*.cc"};
  CHECK(unit_of(kInlined, scope)->name == "work.cc:42");
  scope.files = {"other/*"};
  CHECK_FALSE(unit_of(kInlined, scope));
  scope.files = {"*stl_algobase.h"};
  CHECK(unit_of(kInlined, scope)->line == 254);
}

TEST_CASE("a function is at the line at which it begins, wherever it was sampled",
          "[causal][attribution]") {
  config::Scope scope;
  scope.unit = config::Unit::function;
  CHECK(unit_of(kInlined, scope)->line == 40);
  CHECK(function_of(kInlined)->line == 40);
  CHECK(function_of(kInlined)->module == "server");
  CHECK_FALSE(function_of(without_lines({Frame{}})));
}

TEST_CASE("functions: by wish, or without line information", "[causal][attribution]") {
  config::Scope scope;
  scope.unit = config::Unit::function;
  CHECK(unit_of(kInlined, scope)->name == "work");
  const auto stripped = without_lines({{"memcached+0x1a2b0", "", 0, 0x1a2b0}});
  CHECK(unit_of(stripped, {})->name == "memcached+0x1a2b0");
  CHECK_FALSE(unit_of(stripped, {})->is_line);
  scope.unit = config::Unit::line;
  CHECK_FALSE(unit_of(stripped, scope));
  CHECK_FALSE(unit_of({0x1010, ""}, {}));
  CHECK_FALSE(unit_of(without_lines({Frame{}}), {}));  // the linkage table: of the caller
}

TEST_CASE("code of a library alone is no unit, so that its caller gets the time",
          "[causal][attribution]") {
  symbols::Location sort = without_lines(
      {{"std::__introsort_loop<int*>(int*)", "/usr/include/c++/12/bits/stl_algo.h", 1900, 0x1000}});
  sort.has_lines = true;
  CHECK_FALSE(unit_of(sort, {}));
  CHECK(place_of(sort) == "/usr/include/");
  config::Scope scope;
  scope.unit = config::Unit::function;
  CHECK_FALSE(unit_of(sort, scope));
  scope = {};
  scope.files = {"stl_algo.h"};
  CHECK(unit_of(sort, scope)->name == "stl_algo.h:1900");
}

TEST_CASE("a standard library's function without lines is none either", "[causal][attribution]") {
  CHECK_FALSE(unit_of(without_lines({{"void std::sort<int*>(int*, int*)", "", 0, 0x1000}}), {}));
  CHECK(unit_of(without_lines({{"stdlib_sort", "", 0, 0x1000}}), {}));
  CHECK(place_of(without_lines({{"std::f()", "", 0, 0x1000}})) ==
        "server: its copy of a standard library");
  CHECK(place_of(without_lines({Frame{}})) == "server: code without symbols and unwind tables");
  CHECK(place_of(without_lines({})) == "server");
  CHECK(place_of({0x1010, ""}).empty());
}

TEST_CASE("headers that are installed beside a binary are its own", "[causal][attribution]") {
  symbols::Location inlined = {
      0x1010,
      "/opt/project/bin/server",
      {{"total", "/opt/project/include/total.h", 4, 0}, {"work", "/src/work.cc", 42, 0x1000}},
      true};
  CHECK(unit_of(inlined, {})->name == "total.h:4");
  inlined.module = "/usr/bin/server";
  CHECK(unit_of(inlined, {})->name == "work.cc:42");
}

}  // namespace
}  // namespace causalctl::causal

// Which unit an address belongs to (Coz section 3.4.2).
#include <catch2/catch.hpp>

#include "controller/causal/engine/resolver.h"

namespace causalctl::causal {
namespace {

using unwind::Frame;

const std::vector<Frame> kInlined = {
    {"std::max", "/usr/include/c++/12/bits/stl_algobase.h", 254, 0},
    {"clamp", "/src/lib/clamp.h", 9, 0},
    {"work", "/src/app/work.cc", 42, 0},
};

TEST_CASE("the innermost frame that is not the library's is the line", "[causal][attribution]") {
  const auto unit = unit_of(kInlined, true, {});
  REQUIRE(unit);
  CHECK(unit->is_line);
  CHECK(unit->name == "clamp.h:9");
  CHECK(unit->function == "clamp");
  CHECK(unit->file == "/src/lib/clamp.h");
}

TEST_CASE("a file scope charges inlined code to the line that called it", "[causal][attribution]") {
  config::Scope scope;
  scope.files = {"app/*.cc"};
  CHECK(unit_of(kInlined, true, scope)->name == "work.cc:42");
  scope.files = {"other/*"};
  CHECK_FALSE(unit_of(kInlined, true, scope));
  scope.files = {"*stl_algobase.h"};
  CHECK(unit_of(kInlined, true, scope)->line == 254);
}

TEST_CASE("functions: by wish, or without line information", "[causal][attribution]") {
  config::Scope scope;
  scope.unit = config::Unit::function;
  CHECK(unit_of(kInlined, true, scope)->name == "work");
  const std::vector<Frame> stripped = {{"memcached+0x1a2b0", "", 0, 0x1a2b0}};
  CHECK(unit_of(stripped, false, {})->name == "memcached+0x1a2b0");
  CHECK_FALSE(unit_of(stripped, false, {})->is_line);
  scope.unit = config::Unit::line;
  CHECK_FALSE(unit_of(stripped, false, scope));
  CHECK_FALSE(unit_of({}, false, {}));
  CHECK_FALSE(unit_of({Frame{}}, true, {}));  // the linkage table: of the caller
}

TEST_CASE("modules in scope: MAIN, file names, paths", "[causal][attribution]") {
  unwind::Module main;
  main.path = "/usr/bin/server";
  main.main = true;
  unwind::Module library;
  library.path = "/usr/lib/x86_64-linux-gnu/libssl.so.3";
  config::Scope scope;
  CHECK(module_in_scope(main, scope));
  CHECK_FALSE(module_in_scope(library, scope));
  scope.binaries = {"libssl*"};
  CHECK_FALSE(module_in_scope(main, scope));
  CHECK(module_in_scope(library, scope));
  scope.binaries = {"/usr/bin/*"};
  CHECK(module_in_scope(main, scope));
}

}  // namespace
}  // namespace causalctl::causal

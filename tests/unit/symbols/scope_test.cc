#include "controller/symbols/scope.h"

#include <catch2/catch.hpp>

namespace causalctl::symbols {
namespace {

TEST_CASE("modules in scope: MAIN, file names, paths", "[symbols]") {
  unwind::Module main;
  main.path = "/usr/bin/server";
  main.main = true;
  unwind::Module library;
  library.path = "/usr/lib/x86_64-linux-gnu/libssl.so.3";
  config::Scope scope;
  CHECK(module_in_scope(main, scope));
  CHECK_FALSE(module_in_scope(library, scope));
  CHECK_FALSE(wanted_by(scope)(library));
  scope.binaries = {"libssl*"};
  CHECK_FALSE(module_in_scope(main, scope));
  CHECK(module_in_scope(library, scope));
  CHECK(wanted_by(scope)(library));
  scope.binaries = {"/usr/bin/*"};
  CHECK(module_in_scope(main, scope));
}

TEST_CASE("files in scope: all but system headers, or what a pattern matches", "[symbols]") {
  config::Scope scope;
  CHECK(file_in_scope("/src/app/work.cc", scope));
  CHECK_FALSE(file_in_scope("/usr/include/c++/12/bits/stl_algobase.h", scope));
  scope.files = {"app/*.cc", "stl_algobase.h"};
  CHECK(file_in_scope("/src/app/work.cc", scope));
  CHECK(file_in_scope("/usr/include/c++/12/bits/stl_algobase.h", scope));
  CHECK_FALSE(file_in_scope("/src/lib/work.cc", scope));
}

}  // namespace
}  // namespace causalctl::symbols

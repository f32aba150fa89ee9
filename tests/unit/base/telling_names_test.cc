#include "controller/base/telling_names.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace causalctl {
namespace {

using Endings = std::vector<std::string>;

}  // namespace

TEST_CASE("the endings of a path are names of it", "[base]") {
  CHECK(path_endings("a/b.c") == Endings{"b.c", "a/b.c"});
  CHECK(path_endings("/a/b.c") == Endings{"b.c", "a/b.c", "/a/b.c"});
  CHECK(path_endings("b.c") == Endings{"b.c"});
  CHECK(path_endings("").empty());
}

TEST_CASE("the best name is the shortest that tells a thing from the others", "[base]") {
  TellingNames names;
  const Endings a = {"f", "u.c:f", "a/u.c:f"};
  const Endings b = {"f", "u.c:f", "b/u.c:f"};
  const Endings c = {"g", "u.c:g"};
  for (const Endings& each : {a, b, c}) names.add(each);
  CHECK(names.best_of(a) == "a/u.c:f");
  CHECK(names.best_of(b) == "b/u.c:f");
  CHECK(names.best_of(c) == "g");
  CHECK(names.best_of({"f", "u.c:f"}) == "u.c:f");  // none does
}

TEST_CASE("paths are as long as it takes to tell them apart", "[base]") {
  const ShortPaths paths({"/src/a/u.c", "/src/b/u.c", "/src/main.c", "u.c", ""});
  CHECK(paths.of("/src/a/u.c") == "a/u.c");
  CHECK(paths.of("/src/b/u.c") == "b/u.c");
  CHECK(paths.of("/src/main.c") == "main.c");
  CHECK(paths.of("u.c") == "u.c");
  CHECK(paths.of("").empty());
}

}  // namespace causalctl

#include "controller/base/paths.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("Paths match by whole trailing components", "[base]") {
  CHECK(path_ends_with("/x/b/c.c", "c.c"));
  CHECK(path_ends_with("/x/b/c.c", "b/c.c"));
  CHECK(path_ends_with("/x/b/c.c", "./b/c.c"));
  CHECK(path_ends_with("/x/b/c.c", "/x/b/c.c"));
  CHECK(path_ends_with("c.c", "c.c"));
  CHECK_FALSE(path_ends_with("/xb/c.c", "b/c.c"));
  CHECK_FALSE(path_ends_with("/x/bc.c", "c.c"));
  CHECK_FALSE(path_ends_with("/x/b/c.c", ""));
  CHECK_FALSE(path_ends_with("c.c", "/b/c.c"));
}

TEST_CASE("Paths have one spelling", "[base]") {
  CHECK(normal_path("a.c", "/src") == "/src/a.c");
  CHECK(normal_path("../src/./a.c", "/work/build") == "/work/src/a.c");
  CHECK(normal_path("/usr/include/a.h", "/src") == "/usr/include/a.h");
  CHECK(normal_path("./stdlib/a.c", "./stdlib") == "stdlib/a.c");
  CHECK(normal_path("a.c", "") == "a.c");
}

TEST_CASE("Binaries match by path or file name", "[base]") {
  CHECK(path_matches("/usr/lib/libc.so.6", "libc*"));
  CHECK(path_matches("/usr/lib/libc.so.6", "/usr/lib/*"));
  CHECK(path_matches("/usr/lib/libc.so.6", "lib/libc*"));
  CHECK_FALSE(path_matches("/usr/lib/libc.so.6", "ibc*"));
  CHECK(path_matches("[vdso]", "*vdso*"));
  CHECK(path_matches("/lib/libz.so.1.2.13", "libz.so.1"));
  CHECK(path_matches("/lib/libz.so.1.2.13", "libz.so"));
  CHECK(path_matches("/lib/libz.so.1.2.13", "/lib/libz.so.1.2"));
  CHECK_FALSE(path_matches("/lib/libz.so.1.2.13", "libz.so.1.1"));
  CHECK_FALSE(path_matches("/lib/libz.so.12", "libz.so.1"));
  CHECK_FALSE(path_matches("/lib/libz.so.1.bak", "libz.so.1"));
  CHECK_FALSE(path_matches("/lib/xlibz.so.1.2.13", "libz.so.1"));
}

TEST_CASE("A binary's own name is no pattern", "[base]") {
  CHECK(path_matches("/home/[wip]/prog", "/home/[wip]/prog"));
  CHECK(path_matches("/home/[wip]/prog", "[wip]/prog"));
  CHECK(path_ends_with("/home/[wip]/prog", "prog"));
  CHECK_FALSE(path_ends_with("/home/w/prog", "[wip]/prog"));
}

}  // namespace causalctl

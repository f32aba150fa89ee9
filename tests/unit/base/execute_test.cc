#include "controller/base/execute.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

namespace causalctl {

TEST_CASE("a program is looked for as execvp(3) does", "[base]") {
  CHECK(file_of_program("sh", "/nowhere:/bin:/usr/bin") == "/bin/sh");
  CHECK(file_of_program("/bin/sh", "/nowhere") == "/bin/sh");
  CHECK(file_of_program("sh", "/nowhere").empty());
  CHECK(file_of_program("sh", "").empty());

  // An empty path is the working directory.
  char before[4096];
  REQUIRE(getcwd(before, sizeof(before)) != nullptr);
  REQUIRE(chdir("/bin") == 0);
  for (const char* paths : {":/nowhere", "/nowhere:", "/nowhere::/usr", ""}) {
    INFO(paths);
    CHECK(file_of_program("sh", paths) == "./sh");
  }
  REQUIRE(chdir(before) == 0);
  CHECK(file_of_program("./sh", "/nowhere", "/bin") == "/bin/./sh");
  CHECK(file_of_program("sh", "bin:/nowhere", "/usr") == "/usr/bin/sh");
  CHECK(file_of_program("/bin/sh", "", "/nowhere") == "/bin/sh");

  CHECK(search_path({{"PATH", "/a"}}) == "/a");
  CHECK(search_path({{"PATH", ""}}).empty());
  CHECK(search_path({{"HOME", "/a"}}) == std::getenv("PATH"));
}

}  // namespace causalctl

#include "controller/commands/lost_rights.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace causalctl::commands {

TEST_CASE("a program's right is told if its user gains by it", "[lost_rights]") {
  constexpr uid_t user = 1000;
  constexpr gid_t group = 1000;
  ProgramFile file{S_IFREG | 0755, 0, 0, false, false};
  CHECK(gained_right(file, user, group).empty());
  file.mode |= S_ISUID;
  CHECK(gained_right(file, user, group) == "set-uid");
  CHECK(gained_right(file, 0, group).empty());
  file.gives_none = true;
  CHECK(gained_right(file, user, group).empty());
  CHECK(gained_right({S_IFREG | S_ISGID | 0755, 0, 0, false, false}, user, group) == "set-gid");
  CHECK(gained_right({S_IFREG | S_ISGID | 0744, 0, 0, false, false}, user, group).empty());
  CHECK(gained_right({S_IFREG | 0755, 0, 0, true, false}, user, group) == "file capabilities");
}

}  // namespace causalctl::commands

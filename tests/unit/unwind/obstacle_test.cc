#include "unwind/modules/obstacle.h"

#include <catch2/catch.hpp>

namespace causalctl::unwind {

TEST_CASE("The user of a FUSE file system is found by its device", "[unwind]") {
  const std::string mounts =
      "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n"
      "90 22 0:53 / /home/fu/a\\040b rw,nosuid - fuse.bindfs bindfs rw,user_id=1001,group_id=7\n"
      "91 22 0:54 / /mnt rw - nfs server:/x rw,user_id=5\n";
  CHECK(fuse_user(mounts, 53) == 1001U);
  CHECK_FALSE(fuse_user(mounts, 54));
  CHECK_FALSE(fuse_user(mounts, 55));
  CHECK_FALSE(fuse_user(mounts, (254ULL << 32U) | 1U));
  CHECK_FALSE(fuse_user("", 0));
}

}  // namespace causalctl::unwind

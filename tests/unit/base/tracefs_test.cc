#include "controller/base/tracefs.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("the mount point of tracefs", "[base]") {
  CHECK(tracefs_in_mounts("proc /proc proc rw 0 0\nnodev /sys/kernel/tracing tracefs rw 0 0\n") ==
        "/sys/kernel/tracing");
  CHECK(tracefs_in_mounts("d /dbg debugfs rw 0 0\nt /my\\040trace tracefs rw 0 0") == "/my trace");
  CHECK(tracefs_in_mounts("d /dbg debugfs rw 0 0\n") == "/dbg/tracing");
  CHECK(tracefs_in_mounts("proc /proc proc rw 0 0\n\nx\n x\n").empty());
  CHECK(tracefs_in_mounts("").empty());
}

}  // namespace causalctl

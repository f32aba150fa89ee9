// Tests the reader of /proc/PID/task/TID/syscall on its texts.
#include "unwind/stack/stack_holes.h"

#include <catch2/catch.hpp>

namespace causalctl::unwind {

TEST_CASE("the stack pointer of a blocked thread is the word before the last", "[unwind]") {
  CHECK(parse_stack_pointer("0 0x3 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd1230 0x7f55\n") == 0x7ffd1230U);
  CHECK(parse_stack_pointer("-1 0x7ffd1230 0x7f55\n") == 0x7ffd1230U);
  CHECK_FALSE(parse_stack_pointer("running\n"));
  CHECK_FALSE(parse_stack_pointer(""));
  CHECK_FALSE(parse_stack_pointer("-1 7ffd1230 0x7f55\n"));
  CHECK_FALSE(parse_stack_pointer("-1 0x7ffd123z 0x7f55\n"));
}

}  // namespace causalctl::unwind

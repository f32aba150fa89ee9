#include "tests/support/skip.h"

#include "tests/support/breakpoint.h"

namespace causalctl::test {

bool test_has_breakpoints() {
  static const bool fire = breakpoints_fire();
  if (!fire) skip_test_case("no hardware breakpoint fires here");
  return fire;
}

}  // namespace causalctl::test

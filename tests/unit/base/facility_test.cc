#include "controller/base/facility.h"

#include <catch2/catch.hpp>
#include <cstdlib>

using causalctl::Facility;
using causalctl::is_pretended_broken;

TEST_CASE("The facilities named in CAUSALCTL_PRETEND_BROKEN are broken, and no others") {
  setenv("CAUSALCTL_PRETEND_BROKEN", "wake-up,breakpoint", 1);
  CHECK(is_pretended_broken(Facility::breakpoint));
  CHECK(is_pretended_broken(Facility::wake_up));
  CHECK_FALSE(is_pretended_broken(Facility::uprobe));
  setenv("CAUSALCTL_PRETEND_BROKEN", "breakpoints", 1);  // this is no facility's name
  CHECK_FALSE(is_pretended_broken(Facility::breakpoint));
  unsetenv("CAUSALCTL_PRETEND_BROKEN");
  CHECK_FALSE(is_pretended_broken(Facility::breakpoint));
}

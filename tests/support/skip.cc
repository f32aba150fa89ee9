#include "tests/support/skip.h"

#include <catch2/catch.hpp>
#include <iostream>

#include "tests/support/breakpoint.h"

namespace causalctl::test {

bool test_has_breakpoints() {
  static const bool fire = breakpoints_fire();
  if (!fire) {
    std::cout << "SKIPPED " << Catch::getResultCapture().getCurrentTestName()
              << ": no hardware breakpoint fires here" << std::endl;
  }
  return fire;
}

}  // namespace causalctl::test

// How a Catch2 test is skipped that shows nothing on this machine.
#pragma once

#include <string>

namespace causalctl::test {

// Says why the test case that runs shows nothing here. It is counted as skipped, unless it fails.
void skip_test_case(const std::string& reason);

// False where no hardware breakpoint fires: the test case that asks is skipped, and returns.
bool test_has_breakpoints();

}  // namespace causalctl::test

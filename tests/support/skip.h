// How a Catch2 test is skipped that shows nothing on this machine.
#pragma once

namespace causalctl::test {

// False where no hardware breakpoint fires. The test that asks then returns at once: a line
// `SKIPPED TEST: reason` says so, by which scripts/count_cases does not take it for passed.
bool test_has_breakpoints();

}  // namespace causalctl::test

// Ends with 0 if a hardware breakpoint fires. The end-to-end tests run it to find out.
#include "tests/support/breakpoint.h"

int main() { return causalctl::test::breakpoints_fire() ? 0 : 1; }

// Ends with 0 where a hardware breakpoint fires, which the end-to-end tests ask.
#include "tests/support/breakpoint.h"

int main() { return causalctl::test::breakpoints_fire() ? 0 : 1; }

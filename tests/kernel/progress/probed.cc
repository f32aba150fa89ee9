#include "tests/kernel/progress/probed.h"

// noinline and volatile make each call execute the first instruction of the function once.
#define PROBED [[gnu::noinline]]

namespace probed {

PROBED void function_1() { sink = sink + 1; }
PROBED void function_2() { sink = sink + 2; }
PROBED void function_3() { sink = sink + 3; }
PROBED void function_4() { sink = sink + 4; }
PROBED void function_5() { sink = sink + 5; }
PROBED void overloaded(int value) { sink = value; }
PROBED void overloaded(double value) { sink = static_cast<int>(value) + 1; }

const int hit_line_number = __LINE__ + 3;
PROBED void hit_line() {
  sink = sink + 1;
  sink = sink + 7;
  sink = sink + 2;
}

const int inlined_line_number = __LINE__ + 1;
[[gnu::always_inline]] static inline void copied() { sink = 11; }

PROBED void six_inlined_copies() {
  copied();
  if (sink == 11) copied();
  sink = sink + 1;
  copied();
  if (sink == 11) copied();
  sink = sink + 1;
  copied();
  if (sink == 11) copied();
}

const int pair_line_number = __LINE__ + 1;
[[gnu::always_inline]] static inline void paired() { sink = 13; }

static long counter = 0;
const int locked_line_number = __LINE__ + 2;
PROBED void locked() {
  __atomic_add_fetch(&counter, 1, __ATOMIC_SEQ_CST);
  sink = sink + 3;
}

#define SIX(statement) statement statement statement statement statement statement
const int everywhere_line_number = __LINE__ + 1;
[[gnu::always_inline]] static inline void spread() { sink = 17; }
// clang-format off
PROBED void everywhere() {
  SIX(spread(); sink = sink + 1;) SIX(spread(); sink = sink + 1;)
  SIX(spread(); sink = sink + 1;) SIX(spread(); sink = sink + 1;)
  SIX(spread(); sink = sink + 1;) SIX(spread(); sink = sink + 1;)
  SIX(spread(); sink = sink + 1;) SIX(spread(); sink = sink + 1;)
  SIX(spread(); sink = sink + 1;) SIX(spread(); sink = sink + 1;)
  SIX(spread(); sink = sink + 1;)
}
// clang-format on

const int unrolled_line_number = __LINE__ + 5;
PROBED void unrolled() {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    sink = sink + 1;
    sink = sink ^ i;
  }
}

PROBED void two_inlined_copies() {
  paired();
  sink = sink + 1;
  paired();
}

}  // namespace probed

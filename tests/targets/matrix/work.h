// Work whose result is known, so that a register or a word that a stop of ours changed shows.
#pragma once

#include "../harness.h"

// Both return 3 to the power of `iterations`.
static NOINLINE uint64_t hot_work(uint64_t iterations) {
  uint64_t step = 1;
  for (uint64_t x = 0; x < iterations; x++) SPIN(step);
  return step;
}

static NOINLINE uint64_t other_work(uint64_t iterations) {
  uint64_t step = 1;
  for (uint64_t y = 0; y < iterations; y++) SPIN(step);
  return step;
}

static inline uint64_t power_of_3(uint64_t exponent) {
  uint64_t result = 1;
  for (uint64_t square = 3; exponent > 0; exponent >>= 1, square *= square) {
    if (exponent & 1) result *= square;
  }
  return result;
}

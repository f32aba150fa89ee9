// The inner part of symbols_target's inline chain: another file than the caller's.
#pragma once

#include "symbols_mark.h"

// Inlined everywhere: it has no address of its own.
__attribute__((always_inline)) inline int innermost(int value) {
  value = value * 7 + 3;
  MARK(1);
  return value ^ 0x55;
}

__attribute__((always_inline)) inline int middle(int value) {
  MARK(2);
  return innermost(value + 1) - 4;
}

// MARK(id) puts one nop into the code and its address, the id and the line into a table of the
// program: each copy of it that the compiler makes, inlined or cloned, has its own entry. So the
// program itself knows the truth about its line table, whatever was optimised.
#pragma once

struct Mark {
  unsigned long address, id, line;
};

#define MARK(id)                             \
  __asm__ volatile(                          \
      "1: nop\n"                             \
      ".pushsection symbols_marks, \"aw\"\n" \
      ".quad 1b, %c0, %c1\n"                 \
      ".popsection\n" ::"i"(id),             \
      "i"(__LINE__))

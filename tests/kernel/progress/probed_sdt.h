// TEST_PROBE(name) is a USDT probe of provider causalctl_test: by <sys/sdt.h> if that is installed,
// otherwise by the same note written by hand. If _SDT_HAS_SEMAPHORES was defined before, the note
// names the probe's semaphore causalctl_test_NAME_semaphore.
#pragma once

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define TEST_PROBE(name) DTRACE_PROBE(causalctl_test, name)
#else
#ifdef _SDT_HAS_SEMAPHORES
#define TEST_SEMAPHORE(name) "causalctl_test_" #name "_semaphore"
#else
#define TEST_SEMAPHORE(name) "0"
#endif
#define TEST_PROBE(name) \
  __asm__ __volatile__(                                                               \
      "990: nop\n"                                                                    \
      ".pushsection .note.stapsdt,\"\",\"note\"\n"                                    \
      ".balign 4\n"                                                                   \
      ".4byte 992f-991f, 994f-993f, 3\n"                                              \
      "991: .asciz \"stapsdt\"\n"                                                     \
      "992: .balign 4\n"                                                              \
      "993: .8byte 990b\n"                                                            \
      ".8byte _.stapsdt.base\n"                                                       \
      ".8byte " TEST_SEMAPHORE(name) "\n"                                             \
      ".asciz \"causalctl_test\"\n"                                                   \
      ".asciz \"" #name "\"\n"                                                        \
      ".asciz \"\"\n"                                                                 \
      "994: .balign 4\n"                                                              \
      ".popsection\n"                                                                 \
      ".ifndef _.stapsdt.base\n"                                                      \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"         \
      ".weak _.stapsdt.base\n"                                                        \
      ".hidden _.stapsdt.base\n"                                                      \
      "_.stapsdt.base: .space 1\n"                                                    \
      ".size _.stapsdt.base, 1\n"                                                     \
      ".popsection\n"                                                                 \
      ".endif\n")
#endif

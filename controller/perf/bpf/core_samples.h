// What core_samples.bpf.c and perf/core_sampling.cc share. In C, because the program for the kernel
// is.
#pragma once

#include <linux/types.h>

enum { LEAVER_SLOTS = 1 << 12 };

// How the threads whose number is n modulo LEAVER_SLOTS are sampled when they leave their core.
struct LeaverSlot {
  __u32 left;   // how often they did; written by the program
  __u32 skip;   // that many times are not sampled from here on; written by the program
  __u32 every;  // on average, of how many times one is sampled; written by us
};

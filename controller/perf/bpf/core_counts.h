// What core_counts.bpf.c and perf/core_counts.cc share. In C, because the program for the kernel
// is.
#pragma once

#include <linux/types.h>

enum {
  COUNTED_BUILD_ID_BYTES = 20,
  COUNTED_CORES = 1 << 13,  // most cores of Linux on x86-64 (NR_CPUS)
  // In place of a process:
  COUNTED_KERNEL = 0xffffffff,
  COUNTED_FILE = 0xfffffffe,
};

// A place in code: an address in the memory of the process, or of the kernel, or an offset in the
// file with that build-id. The process is 0 where it has no number that causalctl knows.
struct CountedPlace {
  __u8 build_id[COUNTED_BUILD_ID_BYTES];  // zeros at its end if it is shorter
  __u32 process;
  __u64 address;
};

struct PlaceCount {
  __u64 samples;
  __u64 time_ns;  // that they stand for
  __u64 address;  // of the latest one, in the memory of its process
  __u32 process;
  __u32 unused;
};

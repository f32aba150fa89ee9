// What core_counts.bpf.c and perf/core_counts.cc share. In C, because the program for the kernel
// is.
#pragma once

#include <linux/types.h>

enum {
  COUNTED_BUILD_ID_BYTES = 20,
  COUNTED_PLACES = 1 << 15,  // between two drains
  COUNTED_CORES = 1 << 13,   // most cores of Linux on x86-64 (NR_CPUS)
  COUNTED_KERNEL = 0xffffffff,
};

// A place in code. Where the kernel told the build-id of the file, the address is an offset in that
// and the process is 0. Otherwise it is one in the memory of the process, or of COUNTED_KERNEL.
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

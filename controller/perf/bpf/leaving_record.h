// What leaving.bpf.h and perf/leaving_samples.cc share: how often threads are sampled that leave
// their core, or that wake others. In C, because the program for the kernel is.
#pragma once

#include <linux/types.h>

enum {
  LEAVING_SLOTS = 1 << 12,
  WAKING_SLOTS = LEAVING_SLOTS,  // behind the others
};

// How often a thread is sampled that leaves its core, or wakes another one, at a place.
struct LeavingSlot {
  __u32 left;   // how often it did; written by the program
  __u32 skip;   // that many times are not sampled from here on; written by the program
  __u32 every;  // on average, of how many times one is sampled; written by us
};

// Returns the number of a place, from 1 to LEAVING_SLOTS - 1: of the thread, the instruction, the
// stack pointer and the word that this points to. After a system call in a C library that is where
// the caller goes on. A preemption may come at any instruction, so all of a thread have one place:
// the other three are 0. Two places have the same number now and then.
static inline __u32 leaving_slot(__u32 tid, __u64 instruction, __u64 stack_pointer, __u64 word) {
  const __u64 multiplier = 0x9e3779b97f4a7c15ULL;
  __u64 key = (instruction ^ (__u64)tid << 44) * multiplier;
  key = (key ^ key >> 32 ^ stack_pointer) * multiplier;
  key = (key ^ key >> 32 ^ word) * multiplier;
  const __u32 slot = key >> 52;
  return slot > 0 ? slot : 1;
}

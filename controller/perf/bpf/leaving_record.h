// What leaving.bpf.h and perf/leaving_samples.cc share: samples of threads that leave their core,
// in pieces of a page, in a ring for each core. In C, because the program for the kernel is.
#pragma once

#include <linux/types.h>

enum {
  LEAVING_PIECE_BYTES = 4096,  // what lies on one page of the stack can be read as a whole, or not
  LEAVING_PIECES = 512,        // of a core, at most
  LEAVING_MOST_PIECES = 7,     // of a sample
  LEAVING_REGISTERS = 20,
  LEAVING_KERNEL_FRAMES = 40,  // the innermost ones
  LEAVING_SLOTS = 1 << 12,
};

// The registers, in the order of asm/perf_regs.h, and the kernel's part of the path, innermost
// first, are in the first piece of a sample.
struct LeavingPiece {
  __u64 time_ns;  // of the switch
  __u32 tid;
  __u16 bytes;  // of the stack, from the stack pointer upwards
  __u16 slot;   // of the first piece of a sample; 0 of the others
  __u64 registers[LEAVING_REGISTERS];
  __u64 kernel_frames;  // so many are known
  __u64 kernel[LEAVING_KERNEL_FRAMES];
  __u8 stack[LEAVING_PIECE_BYTES];
};

struct LeavingRing {
  __u64 written;  // pieces, so far; each sample as a whole
  __u64 unused[7];
  __u64 read;  // written by the reader
  __u64 unused_too[7];
};

// How often a thread is sampled that leaves its core at a place.
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

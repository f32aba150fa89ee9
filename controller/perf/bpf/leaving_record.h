// What leaving.bpf.h and perf/leaving_samples.cc share: samples of threads that leave their core,
// in pieces of a page, in a ring for each core. In C, because the program for the kernel is.
#pragma once

#include <linux/types.h>

enum {
  LEAVING_PIECE_BYTES = 4096,  // what lies on one page of the stack can be read as a whole, or not
  LEAVING_PIECES = 512,        // of a core, at most
  LEAVING_MOST_PIECES = 7,     // of a sample
  LEAVING_REGISTERS = 20,
  LEAVING_SLOTS = 1 << 12,
};

// The registers, in the order of asm/perf_regs.h, are in the first piece of a sample.
struct LeavingPiece {
  __u64 time_ns;  // of the switch
  __u32 tid;
  __u16 bytes;  // of the stack, from the stack pointer upwards
  __u16 is_first;
  __u64 registers[LEAVING_REGISTERS];
  __u8 stack[LEAVING_PIECE_BYTES];
};

struct LeavingRing {
  __u64 written;  // pieces, so far; each sample as a whole
  __u64 lost;     // samples, for want of room
  __u64 unused[6];
  __u64 read;  // written by the reader
  __u64 unused_too[7];
};

// How often a thread is sampled that leaves its core at a place: the rest of a key modulo
// LEAVING_SLOTS, which leaving_slot() makes of the thread, the instruction and the stack pointer.
struct LeavingSlot {
  __u32 left;   // how often it did; written by the program
  __u32 skip;   // that many times are not sampled from here on; written by the program
  __u32 every;  // on average, of how many times one is sampled; written by us
};

static inline __u32 leaving_slot(__u32 tid, __u64 instruction, __u64 stack_pointer) {
  const __u64 key = (instruction ^ stack_pointer << 20 ^ (__u64)tid << 44) * 0x9e3779b97f4a7c15ULL;
  return key >> 52;
}

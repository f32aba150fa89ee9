// What stack_copy.bpf.h and perf/stack_copies.cc share: the registers of threads and what lies on
// their stacks, as a program for the kernel copies them, in pieces of a page, in a ring for each
// core. In C, because the program for the kernel is.
#pragma once

#include <linux/types.h>

enum {
  STACK_PIECE_BYTES = 4096,  // what lies on one page of the stack can be read as a whole, or not
  STACK_PIECES = 512,        // of a core, at most
  STACK_OWN_PIECES = 7,      // of the stack on which the thread runs
  STACK_INTERRUPTED_PIECES = 5,  // … and of the one that was interrupted, if that is copied
  STACK_INTERRUPTED_BYTES = 16384,
  STACK_REGISTERS = 20,
  STACK_FRAMES = 64,  // the innermost ones
};

// The registers, in the order of asm/perf_regs.h, are in the first piece of a copy, with a call
// chain, innermost first: the kernel's part of the path or, where a program in user code is copied,
// what its frame pointers tell.
//
// Where a signal's handler has a stack of its own, pieces of what it has interrupted come behind
// those of its stack, which may be none.
struct StackPiece {
  __u64 time_ns;
  __u32 tid;
  __u16 bytes;   // of the stack
  __u16 tag;     // of the first piece: why the copy was made, not 0; 0 of the others
  __u64 number;  // of an event that has one, such as the result of a system call
  __u64 from;    // the address of its part of the stack
  __u64 registers[STACK_REGISTERS];
  __u64 frames;  // so many are known
  __u64 chain[STACK_FRAMES];
  __u8 stack[STACK_PIECE_BYTES];
};

struct StackRing {
  __u64 written;  // pieces, so far; each copy as a whole
  __u64 busy;     // a copy is being made, of a thread that may leave the core meanwhile
  __u64 unused[6];
  __u64 read;  // written by the reader
  __u64 unused_too[7];
};

// What shot_filter.bpf.c and pause/shot_filter.cc share. In C, because the program for the kernel
// is.
#pragma once

#include <linux/types.h>

enum { SHOT_SLOTS = 1024 };

// Why no shot may be fired any more.
enum ShotReason {
  SHOT_HANDLER = 1,   // the disposition of SIGTRAP is not our handler
  SHOT_SECCOMP = 2,   // the thread is under seccomp
  SHOT_DISPATCH = 4,  // it dispatches system calls itself
};

struct ShotSlot {
  // Written by us: where the stack pointer may be.
  __u64 low, high;
  // Written by the program: where the thread was when its shot was suppressed for want of stack.
  __u64 stack_pointer, control_block;
};

struct ShotShared {
  __u64 reasons;    // ShotReason of the last shot that was suppressed for ever
  __u64 unused[7];  // the slots begin in another cache line
  struct ShotSlot slots[SHOT_SLOTS];
};

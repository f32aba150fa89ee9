// Where the kernel puts what a signal has interrupted on the stack of its handler: struct
// rt_sigframe, below the state of the vector unit (arch/x86/kernel/signal.c, get_sigframe()). In C,
// because the program for the kernel is.
#pragma once

#include <linux/types.h>

// How it begins.
struct SignalFrame {
  __u64 return_code, flags, link;
  __u64 stack, stack_flags, stack_size;  // the handler's, as the thread has it
};

enum {
  SIGNAL_FRAME_BYTES = 440,  // with all registers, and what is known of the signal
  SIGNAL_FRAME_SP = 168,     // where the interrupted stack pointer is
};

// Returns the address of the frame. `top` is the end of the handler's stack, and `state_bytes` the
// size of the state (perf/signal_state.h).
static inline __u64 signal_frame_at(__u64 top, __u32 state_bytes) {
  const __u64 state = (top - state_bytes) & ~(__u64)63;
  return ((state - SIGNAL_FRAME_BYTES) & ~(__u64)15) - sizeof(__u64);
}

// When a handler runs on its sigaltstack(2), finds the stack pointer of the code that it has
// interrupted. Nothing changes on that stack while the handler runs.
//
// The includer defines struct task_struct with `sas_ss_sp` and `sas_ss_size`. With SS_AUTODISARM
// the kernel clears both while a handler runs, so that nothing is found.
#pragma once

#include "controller/perf/bpf/signal_frame.h"

enum { SIGNAL_STATE_SIZES = 2 };
// How large the state of the vector unit can be (perf/signal_state.h), which we set.
const volatile __u32 signal_state_bytes[SIGNAL_STATE_SIZES];

static __always_inline int on_handler_stack(const struct task_struct* current, __u64 sp) {
  return current->sas_ss_size != 0 && sp - current->sas_ss_sp <= current->sas_ss_size;
}

static __always_inline int is_signal_frame(__u64 at, __u64 stack, __u64 size) {
  struct SignalFrame frame = {};
  if (bpf_probe_read_user(&frame, sizeof frame, (void*)at) != 0) return 0;
  return frame.stack == stack && frame.stack_size == size && frame.link == 0;
}

// Returns the address of the frame, which is not below `lowest`; or 0.
static __always_inline __u64 find_signal_frame(__u64 stack, __u64 size, __u64 lowest) {
  for (__u32 i = 0; i < SIGNAL_STATE_SIZES; ++i) {
    const __u64 at = signal_frame_at(stack + size, signal_state_bytes[i]);
    if (at >= lowest && is_signal_frame(at, stack, size)) return at;
  }
  return 0;
}

// Returns the interrupted stack pointer of the current thread; 0 if no handler runs on a stack of
// its own. `sp` is that of the thread.
static __always_inline __u64 interrupted_stack(__u64 sp) {
  const struct task_struct* current = bpf_get_current_task_btf();
  if (!on_handler_stack(current, sp)) return 0;
  // The handler's return has taken the frame's first word.
  const __u64 frame =
      find_signal_frame(current->sas_ss_sp, current->sas_ss_size, sp - sizeof(__u64));
  __u64 interrupted = 0;
  if (frame == 0) return 0;
  bpf_probe_read_user(&interrupted, sizeof interrupted, (void*)(frame + SIGNAL_FRAME_SP));
  return interrupted;
}

// Finds the stack that a signal has interrupted whose handler runs on a stack of its own
// (sigaltstack(2)). Nothing changes there while the handler runs.
//
// At the top of the handler's stack, below the state of the vector unit, lies what the kernel has
// saved: struct rt_sigframe (arch/x86/kernel/signal.c, get_sigframe()).
#pragma once

// Includer: struct task_struct with `sas_ss_sp` and `sas_ss_size`.
struct SignalFrame {
  __u64 return_code, flags, link;
  __u64 stack, stack_flags, stack_size;  // the handler's, as the thread has it
};
enum {
  SIGNAL_FRAME_BYTES = 440,  // with all registers, and what is known of the signal
  SIGNAL_FRAME_SP = 168,     // where the interrupted stack pointer is
  SIGNAL_STATE_SIZES = 2,
};
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
    const __u64 state = (stack + size - signal_state_bytes[i]) & ~63ULL;
    const __u64 at = ((state - SIGNAL_FRAME_BYTES) & ~15ULL) - sizeof(__u64);
    if (at >= lowest && is_signal_frame(at, stack, size)) return at;
  }
  return 0;
}

// Returns the stack pointer of what the handler that runs in the current thread has interrupted; 0
// if there is none, or it is on the same stack. `sp` is that of the thread.
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

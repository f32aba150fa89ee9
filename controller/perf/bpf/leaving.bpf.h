// Samples threads that leave their core, or that wake others, with the registers and the stack of
// their user code.
//
// Threads wait at few places, at some all the time and at others now and then, for long. So it is
// chosen by thread and place how often one is sampled: a rare wait is not missed because there are
// many others. Which switch is sampled next is drawn at random, because switches may have a
// pattern.
#pragma once

#define STACK_OF_TASKS
#include "controller/perf/bpf/leaving_record.h"
#include "controller/perf/bpf/stack_copy.bpf.h"

const volatile __u32 leaving_kernel_chain;  // whether the kernel's part of the path is wanted
__u32 leaving_bytes;                        // of the stack that are wanted; 0: nothing is sampled
struct LeavingSlot leaving_slots[LEAVING_SLOTS + WAKING_SLOTS];

static __always_inline int is_drawn(struct LeavingSlot* slot) {
  const __u32 every = slot->every;
  ++slot->left;
  // What was drawn when fewer were to be sampled does not hold any more.
  if (slot->skip > 0 && slot->skip < 2 * every) {
    --slot->skip;
    return 0;
  }
  slot->skip = every > 1 ? bpf_get_prandom_u32() % (2 * every - 1) : 0;
  return 1;
}

// `number` is StackPiece::number.
static __always_inline void copy_thread(void* context, __u32 tid, __u32 slot,
                                        const struct pt_regs* regs, __u64 number, __u32 bytes,
                                        __u64 time_ns) {
  const __u32 core = bpf_get_smp_processor_id();
  struct StackRing* ring = bpf_map_lookup_elem(&stack_rings, &core);
  if (!ring) return;
  if (context && leaving_kernel_chain) {
    copy_stack(core, ring, context, 0, tid, slot, regs, number, bytes, time_ns);
  } else {
    copy_stack(core, ring, 0, 0, tid, slot, regs, number, bytes, time_ns);
  }
}

static __always_inline __u32 slot_of_call(__u32 tid, const struct pt_regs* regs) {
  const __u64 stack_pointer = regs->sp;
  __u64 word = 0;
  bpf_probe_read_user(&word, sizeof word, (void*)stack_pointer);
  return leaving_slot(tid, regs->ip, stack_pointer, word);
}

// Returns the number of the place; 0 if nothing is sampled. `left` is the current thread, and its
// memory is there to be read. Switches of a core do not interrupt each other. `context` is that of
// the program.
static __always_inline __u32 sample_leaving(void* context, struct task_struct* left, int blocked,
                                            __u64 time_ns) {
  const __u32 bytes = leaving_bytes;
  // One that is ending has given its memory back, and a worker of the kernel's has no user code.
  if (bytes == 0 || !left->mm) return 0;
  const struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(left);
  if (regs->sp == 0) return 0;
  const __u32 place = blocked ? slot_of_call(left->pid, regs) : leaving_slot(left->pid, 0, 0, 0);
  const __u32 slot = place & (LEAVING_SLOTS - 1);
  if (is_drawn(&leaving_slots[slot])) {
    copy_thread(context, left->pid, slot, regs, 0, bytes, time_ns);
  }
  return slot;
}

// `waker` is the current thread, which wakes another one by a system call. Interrupts are off, as
// the woken thread is locked.
static __always_inline void sample_waking(struct task_struct* waker, __u32 woken, __u64 time_ns) {
  const __u32 bytes = leaving_bytes;
  if (bytes == 0 || !waker->mm) return;
  const struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(waker);
  if (regs->sp == 0) return;
  const __u32 place = slot_of_call(waker->pid, regs);
  const __u32 slot = LEAVING_SLOTS + (place & (WAKING_SLOTS - 1));
  if (!is_drawn(&leaving_slots[slot])) return;
  copy_thread(0, waker->pid, slot, regs, woken, bytes, time_ns);
}

// Samples threads that leave their core, with the registers and the stack of their user code.
//
// Threads wait at few places, at some all the time and at others now and then, for long. So it is
// chosen by thread and place how often one is sampled: a rare wait is not missed because there are
// many others. Which switch is sampled next is drawn at random, because switches may have a
// pattern.
#pragma once

#include "controller/perf/bpf/leaving_record.h"

struct pt_regs {
  unsigned long ax, bx, cx, dx, si, di, bp, sp, ip, flags, cs, ss;
  unsigned long r8, r9, r10, r11, r12, r13, r14, r15;
} __attribute__((preserve_access_index));

const volatile __u32 leaving_pieces_of_core;  // a power of two
const volatile __u32 leaving_kernel_chain;    // whether the kernel's part of the path is wanted
__u32 leaving_bytes;                          // of the stack that are wanted; 0: nothing is sampled
struct LeavingSlot leaving_slots[LEAVING_SLOTS];

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // one for each core, which is set when it is loaded
  __type(key, __u32);
  __type(value, struct LeavingRing);
} leaving_rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // leaving_pieces_of_core for each core
  __type(key, __u32);
  __type(value, struct LeavingPiece);
} leaving_pieces SEC(".maps");

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

static __always_inline struct LeavingPiece* piece_of(__u32 core, __u64 number) {
  const __u32 place = core * leaving_pieces_of_core + (number & (leaving_pieces_of_core - 1));
  return bpf_map_lookup_elem(&leaving_pieces, &place);
}

static __always_inline void copy_thread(void* context, __u32 tid, __u32 slot,
                                        const struct pt_regs* regs, __u32 bytes, __u64 time_ns) {
  const __u32 core = bpf_get_smp_processor_id();
  struct LeavingRing* ring = bpf_map_lookup_elem(&leaving_rings, &core);
  if (!ring) return;
  const __u64 first = ring->written;
  if (first + LEAVING_MOST_PIECES - ring->read > leaving_pieces_of_core) return;
  struct LeavingPiece* piece = piece_of(core, first);
  if (!piece) return;
  piece->time_ns = time_ns;
  piece->tid = tid;
  const __u64 registers[LEAVING_REGISTERS] = {
      regs->ax,  regs->bx,  regs->cx,    regs->dx,  regs->si,  regs->di, regs->bp,
      regs->sp,  regs->ip,  regs->flags, regs->cs,  regs->ss,  regs->r8, regs->r9,
      regs->r10, regs->r11, regs->r12,   regs->r13, regs->r14, regs->r15};
  __builtin_memcpy(piece->registers, registers, sizeof registers);
  piece->kernel_frames = 0;
  if (leaving_kernel_chain) {
    const long size = bpf_get_stack(context, piece->kernel, sizeof piece->kernel, 0);
    if (size > 0) piece->kernel_frames = size / sizeof piece->kernel[0];
  }
  __u64 from = regs->sp;
  __u32 pieces = 0;
  for (__u32 i = 0; i < LEAVING_MOST_PIECES && (i == 0 || from < regs->sp + bytes); ++i) {
    struct LeavingPiece* next = piece_of(core, first + i);
    if (!next) break;
    const __u32 to_end_of_page = LEAVING_PIECE_BYTES - (from & (LEAVING_PIECE_BYTES - 1));
    next->slot = i == 0 ? slot : 0;
    next->bytes = 0;
    if (i == 0) pieces = 1;  // with the registers
    if (bpf_probe_read_user(next->stack, to_end_of_page, (void*)from) != 0) break;
    next->bytes = to_end_of_page;
    pieces = i + 1;
    from += to_end_of_page;
  }
  barrier();
  *(volatile __u64*)&ring->written = first + pieces;
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
  const __u64 stack_pointer = regs->sp;
  if (stack_pointer == 0) return 0;
  __u64 word = 0;
  if (blocked) bpf_probe_read_user(&word, sizeof word, (void*)stack_pointer);
  const __u32 place = blocked ? leaving_slot(left->pid, regs->ip, stack_pointer, word)
                              : leaving_slot(left->pid, 0, 0, 0);
  const __u32 slot = place & (LEAVING_SLOTS - 1);
  if (is_drawn(&leaving_slots[slot])) copy_thread(context, left->pid, slot, regs, bytes, time_ns);
  return slot;
}

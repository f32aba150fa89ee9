// Copies the registers of a thread and what lies on its stack, for the reader to unwind.
#pragma once

#include "controller/perf/bpf/stack_copy.h"
#ifdef STACK_OF_TASKS
#include "controller/perf/bpf/interrupted.bpf.h"
#endif

// The context of a uprobe has them in this order on every kernel. Where they are read of a task,
// the kernel's types say where they are, which needs its BTF.
struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
  unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
}
#ifdef STACK_OF_TASKS
__attribute__((preserve_access_index))
#endif
;

const volatile __u32 stack_pieces_of_core;  // a power of two

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // one for each core, which is set when it is loaded
  __type(key, __u32);
  __type(value, struct StackRing);
} stack_rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // stack_pieces_of_core for each core
  __type(key, __u32);
  __type(value, struct StackPiece);
} stack_pieces SEC(".maps");

// Returns the ring of a core on which no other copy is being made, and keeps others from being made
// until release_ring(); or null. The program may be preempted meanwhile by another thread of the
// core.
static __always_inline struct StackRing* acquire_ring(__u32 core) {
  struct StackRing* ring = bpf_map_lookup_elem(&stack_rings, &core);
  return ring && __sync_lock_test_and_set(&ring->busy, 1) == 0 ? ring : 0;
}

static __always_inline void release_ring(struct StackRing* ring) {
  barrier();
  *(volatile __u64*)&ring->busy = 0;
}

static __always_inline struct StackPiece* piece_of(__u32 core, __u64 number) {
  const __u32 place = core * stack_pieces_of_core + (number & (stack_pieces_of_core - 1));
  return bpf_map_lookup_elem(&stack_pieces, &place);
}

// Writes the first piece but for the stack. `chain_of` is the context of the program if a call
// chain is wanted, or null; `flags` are those of bpf_get_stack().
static __always_inline void begin_copy(struct StackPiece* piece, void* chain_of, __u64 flags,
                                       __u32 tid, __u32 tag, const struct pt_regs* regs,
                                       __u64 number, __u64 time_ns) {
  piece->time_ns = time_ns;
  piece->tid = tid;
  piece->tag = tag;
  piece->bytes = 0;
  piece->from = regs->sp;
  piece->number = number;
  const __u64 registers[STACK_REGISTERS] = {regs->ax,  regs->bx,  regs->cx,  regs->dx,  regs->si,
                                            regs->di,  regs->bp,  regs->sp,  regs->ip,  regs->flags,
                                            regs->cs,  regs->ss,  regs->r8,  regs->r9,  regs->r10,
                                            regs->r11, regs->r12, regs->r13, regs->r14, regs->r15};
  __builtin_memcpy(piece->registers, registers, sizeof registers);
  piece->frames = 0;
  if (!chain_of) return;
  const long size = bpf_get_stack(chain_of, piece->chain, sizeof piece->chain, flags);
  if (size > 0) piece->frames = size / sizeof piece->chain[0];
}

// Copies what lies from `from` on into the pieces from `next` on, of a copy that begins with
// `first`, up to the first page that cannot be read. Returns the number after the last piece.
static __always_inline __u64 copy_bytes(__u32 core, __u64 first, __u64 next, __u64 from,
                                        __u32 bytes, __u32 most_pieces) {
  const __u64 end = from + bytes;
  for (__u32 i = 0; i < most_pieces && from < end; ++i) {
    struct StackPiece* piece = piece_of(core, next);
    if (!piece) break;
    const __u32 to_end_of_page = STACK_PIECE_BYTES - (from & (STACK_PIECE_BYTES - 1));
    if (bpf_probe_read_user(piece->stack, to_end_of_page, (void*)from) != 0) break;
    if (next != first) piece->tag = 0;
    piece->from = from;
    piece->bytes = to_end_of_page;
    from += to_end_of_page;
    ++next;
  }
  return next;
}

// Where there is no room, it is as if no copy was wanted. Copies on one core must not interrupt
// each other.
static __always_inline void copy_stack(__u32 core, struct StackRing* ring, void* chain_of,
                                       __u64 flags, __u32 tid, __u32 tag,
                                       const struct pt_regs* regs, __u64 number, __u32 bytes,
                                       __u64 time_ns) {
  const __u64 first = ring->written;
#ifdef STACK_OF_TASKS
  const __u32 most = STACK_OWN_PIECES + STACK_INTERRUPTED_PIECES;
#else
  const __u32 most = STACK_OWN_PIECES;
#endif
  if (first + most - ring->read > stack_pieces_of_core) return;
  struct StackPiece* piece = piece_of(core, first);
  if (!piece) return;
  begin_copy(piece, chain_of, flags, tid, tag, regs, number, time_ns);
  __u64 next = copy_bytes(core, first, first, regs->sp, bytes, STACK_OWN_PIECES);
#ifdef STACK_OF_TASKS
  const __u64 interrupted = interrupted_stack(regs->sp);
  if (interrupted != 0) {
    next = copy_bytes(core, first, next, interrupted, STACK_INTERRUPTED_BYTES,
                      STACK_INTERRUPTED_PIECES);
  }
#endif
  if (next == first) ++next;  // with the registers alone
  barrier();
  *(volatile __u64*)&ring->written = next;
}

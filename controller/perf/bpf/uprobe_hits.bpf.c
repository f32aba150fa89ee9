// Counts the hits of uprobes and of system calls' tracepoints in one process, whichever thread
// makes them, records them, and copies the stacks of some (perf/uprobes.h). The tag of a place is
// the cookie of its link.
#include "controller/perf/bpf/uprobe_hits.h"

#include "controller/perf/bpf/numbers.bpf.h"
#include "controller/perf/bpf/stack_copy.bpf.h"

const volatile __u32 target;

__u64 started;  // set by us
__u64 lost;
__u64 counts[UPROBE_TAGS_COUNTED];
// Of how many hits one is copied with its stack, on average, chosen at random, so that no pattern
// of the program is followed; 0: none. Set by us, as stack_bytes is.
__u32 copied_every[UPROBE_TAGS_COUNTED];
__u32 stack_bytes;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);  // 43,000 hits
} records SEC(".maps");

// The program may be preempted in between by another thread of the core.
static __always_inline void copy_hit(const struct pt_regs* regs, __u32 tid, __u64 tag,
                                     __u64 time_ns) {
  const __u32 core = bpf_get_smp_processor_id();
  struct StackRing* ring = bpf_map_lookup_elem(&stack_rings, &core);
  if (!ring || __sync_lock_test_and_set(&ring->busy, 1) != 0) return;
  copy_stack(core, ring, 0, tid, tag + 1, regs, stack_bytes, time_ns);
  barrier();
  *(volatile __u64*)&ring->busy = 0;
}

// `regs` is null where no stack is copied.
static __always_inline void hit(void* context, const struct pt_regs* regs) {
  if (!started) return;
  const struct Numbers running = current_numbers();
  if (running.process != target) return;
  const __u64 tag = bpf_get_attach_cookie(context);
  if (tag >= UPROBE_TAGS_COUNTED) return;
  const __u64 time_ns = bpf_ktime_get_ns();
  __sync_fetch_and_add(&counts[tag], 1);
  const __u32 every = regs ? copied_every[tag] : 0;
  if (every > 0 && bpf_get_prandom_u32() % every == 0) copy_hit(regs, running.tid, tag, time_ns);
  if (tag >= UPROBE_TAGS_RECORDED) return;
  struct UprobeRecord* record = bpf_ringbuf_reserve(&records, sizeof *record, 0);
  if (!record) {
    __sync_fetch_and_add(&lost, 1);
    return;
  }
  record->time_ns = time_ns;
  record->tid = running.tid;
  record->tag = tag;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

// A program that returned 1 would have the uprobe removed.
SEC("uprobe")
int causalctl_hits(struct pt_regs* context) {
  hit(context, context);
  return 0;
}

SEC("tracepoint")
int causalctl_calls(void* context) {
  hit(context, 0);
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

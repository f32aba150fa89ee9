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
// Set by us.
struct UprobeUse uses[UPROBE_TAGS_COUNTED];
__u32 stack_bytes;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // UPROBE_ROWS if rows are wanted
  __type(key, __u32);
  __type(value, struct UprobeRow);
} rows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // UPROBE_ROWS for each core, if rows are wanted
  __type(key, __u32);
  __type(value, __u64);
} of_cores SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);  // 43,000 hits
} records SEC(".maps");

static __always_inline void count_in_row(__u32 row, __u32 tid, __u32 core) {
  struct UprobeRow* counts = bpf_map_lookup_elem(&rows, &row);
  if (counts) __sync_fetch_and_add(&counts->of_thread[uprobe_thread(tid)], 1);
  const __u32 place = core * UPROBE_ROWS + row;
  __u64* of_core = bpf_map_lookup_elem(&of_cores, &place);
  if (of_core) __sync_fetch_and_add(of_core, 1);
}

// The program may be preempted in between by another thread of the core.
static __always_inline void copy_hit(struct pt_regs* regs, __u32 core, __u32 tid, __u64 tag,
                                     __u64 time_ns) {
  struct StackRing* ring = bpf_map_lookup_elem(&stack_rings, &core);
  if (!ring || __sync_lock_test_and_set(&ring->busy, 1) != 0) return;
  copy_stack(core, ring, regs, BPF_F_USER_STACK, tid, tag + 1, regs, stack_bytes, time_ns);
  barrier();
  *(volatile __u64*)&ring->busy = 0;
}

// Hits are chosen at random, so that no pattern of the program is followed.
static __always_inline void use_hit(struct pt_regs* regs, __u32 tid, __u64 tag, __u64 time_ns) {
  const __u32 core = bpf_get_smp_processor_id();
  const __u32 row = uses[tag].row;
  if (row > 0) count_in_row(row - 1, tid, core);
  const __u32 every = uses[tag].copied_every;
  if (every > 0 && bpf_get_prandom_u32() % every == 0) copy_hit(regs, core, tid, tag, time_ns);
}

// `regs` is null where there is no code of the program that hits.
static __always_inline void hit(void* context, struct pt_regs* regs) {
  if (!started) return;
  const struct Numbers running = current_numbers();
  if (running.process != target) return;
  const __u64 tag = bpf_get_attach_cookie(context);
  if (tag >= UPROBE_TAGS_COUNTED) return;
  const __u64 time_ns = bpf_ktime_get_ns();
  __sync_fetch_and_add(&counts[tag], 1);
  if (regs) use_hit(regs, running.tid, tag, time_ns);
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

// Counts the hits of uprobes, of system calls' tracepoints and of software events in the watched
// processes, whichever thread makes them, records them, and copies the stacks of some
// (perf/uprobes.h). The tag of a place is the cookie of its link.
#include "controller/perf/bpf/uprobe_hits.h"

#include "controller/perf/bpf/numbers.bpf.h"
#include "controller/perf/bpf/stack_copy.bpf.h"
#include "controller/perf/bpf/watched.bpf.h"

const volatile __u32 copying;  // whether copies will be wanted

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

struct Hit {
  void* context;  // of the program
  // Known to the compiler: the program's own code hits, whose registers are the context.
  int in_own_code;
  __u64 number;  // StackPiece::number
  __u64 tag;
  __u64 time_ns;
  __u32 tid;
};

static __always_inline void copy_hit(const struct Hit* hit, __u32 core) {
  struct StackRing* ring = acquire_ring(core);
  if (!ring) return;
  if (hit->in_own_code) {
    copy_stack(core, ring, hit->context, BPF_F_USER_STACK, hit->tid, hit->tag + 1, hit->context,
               hit->number, stack_bytes, hit->time_ns);
  } else {
    struct pt_regs regs = {};
    const void* there = (const void*)bpf_task_pt_regs(bpf_get_current_task_btf());
    bpf_probe_read_kernel(&regs, sizeof regs, there);
    copy_stack(core, ring, hit->context, BPF_F_USER_STACK, hit->tid, hit->tag + 1, &regs,
               hit->number, stack_bytes, hit->time_ns);
  }
  release_ring(ring);
}

// Hits are chosen at random, so that no pattern of the program is followed.
static __always_inline void use_hit(const struct Hit* hit) {
  const __u32 core = bpf_get_smp_processor_id();
  const __u32 row = uses[hit->tag].row;
  if (row > 0) count_in_row(row - 1, hit->tid, core);
  struct UprobeUse* use = &uses[hit->tag];
  const __u32 every = use->copied_every;
  if (every == 0 || bpf_get_prandom_u32() % every != 0 || use->copies_left <= 0) return;
  __sync_fetch_and_add(&use->copies_left, -1);
  copy_hit(hit, core);
}

static __always_inline void take(void* context, int in_own_code, __u64 number) {
  if (!started) return;
  const struct WatchedProcesses* set = watched();
  const struct Numbers running = current_numbers();
  if (!set || !has_process(set->sampled, running.process)) return;
  const __u64 tag = bpf_get_attach_cookie(context);
  if (tag >= UPROBE_TAGS_COUNTED) return;
  const __u64 time_ns = bpf_ktime_get_ns();
  __sync_fetch_and_add(&counts[tag], 1);
  if (copying) {
    const struct Hit hit = {context, in_own_code, number, tag, time_ns, running.tid};
    use_hit(&hit);
  }
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
  take(context, 1, 0);
  return 0;
}

SEC("tracepoint")
int causalctl_calls(void* context) {
  take(context, 0, 0);
  return 0;
}

// At the end of a call.
SEC("tracepoint")
int causalctl_results(void* context) {
  take(context, 0, *(const __u64*)((const char*)context + UPROBE_RESULT_OFFSET));
  return 0;
}

SEC("perf_event")
int causalctl_faults(void* context) {
  take(context, 0, 0);
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Counts the hits of uprobes and of system calls' tracepoints in one process, whichever thread
// makes them, and records them (perf/uprobes.h). The tag of a place is the cookie of its link.
#include "controller/perf/bpf/uprobe_hits.h"

#include "controller/perf/bpf/numbers.bpf.h"

const volatile __u32 target;

__u64 started;  // set by us
__u64 lost;
__u64 counts[UPROBE_TAGS_COUNTED];

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);  // 43,000 hits
} records SEC(".maps");

static __always_inline void hit(void* context) {
  if (!started) return;
  const struct Numbers running = current_numbers();
  if (running.process != target) return;
  const __u64 tag = bpf_get_attach_cookie(context);
  if (tag >= UPROBE_TAGS_COUNTED) return;
  const __u64 time_ns = bpf_ktime_get_ns();
  __sync_fetch_and_add(&counts[tag], 1);
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
int causalctl_hits(void* context) {
  hit(context);
  return 0;
}

SEC("tracepoint")
int causalctl_calls(void* context) {
  hit(context);
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

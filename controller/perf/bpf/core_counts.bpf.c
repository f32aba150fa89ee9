// Counts samples of the cores' clocks by place in code, so that a sample makes no record
// (perf/core_counts.h).
#include "controller/perf/bpf/core_counts.h"

#include "controller/perf/bpf/numbers.bpf.h"
#include "controller/perf/bpf/watched.bpf.h"
// clang-format off
#include <linux/ptrace.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
// clang-format on

struct task_struct {
  int tgid;
} __attribute__((preserve_access_index));

const volatile __u32 all_processes;  // not those that are watched alone

__u64 period_of[COUNTED_CORES];  // of each core's clock, in nanoseconds; set by us
__u64 unplaced;                  // samples for which the map has no room

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // as many as causalctl says
  __type(key, struct CountedPlace);
  __type(value, struct PlaceCount);
} places SEC(".maps");

#define IN_USER_CODE 3  // the lowest bits of the code segment's number

// A file's build-id is in its first page, which must be in memory; and the mappings of the process
// must not change just then.
static __always_inline void find_file(struct bpf_perf_event_data* context,
                                      struct CountedPlace* place) {
  struct bpf_stack_build_id found = {};
  const long size =
      bpf_get_stack(context, &found, sizeof found, BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
  if (size != sizeof found || found.status != BPF_STACK_BUILD_ID_VALID) return;
  __builtin_memcpy(place->build_id, found.build_id, COUNTED_BUILD_ID_BYTES);
  place->process = COUNTED_FILE;
  place->address = found.offset;
}

SEC("perf_event")
int causalctl_counts(struct bpf_perf_event_data* context) {
  const __u32 process = current_numbers().process;
  if (!all_processes) {
    const struct WatchedProcesses* set = watched();
    if (!set || !has_process(set->sampled, process)) return 0;
  }
  const __u64 address = context->regs.rip;
  struct CountedPlace place = {.process = process, .address = address};
  if ((context->regs.cs & IN_USER_CODE) == IN_USER_CODE) {
    find_file(context, &place);
  } else {
    place.process = COUNTED_KERNEL;
  }
  struct PlaceCount* known = bpf_map_lookup_elem(&places, &place);
  if (!known) {
    const struct PlaceCount none = {};
    bpf_map_update_elem(&places, &place, &none, BPF_NOEXIST);
    known = bpf_map_lookup_elem(&places, &place);
  }
  if (!known) {
    __sync_fetch_and_add(&unplaced, 1);
    return 0;
  }
  __sync_fetch_and_add(&known->samples, 1);
  __sync_fetch_and_add(&known->time_ns,
                       period_of[bpf_get_smp_processor_id() & (COUNTED_CORES - 1)]);
  known->address = address;
  known->process = process;
  return 0;
}

// The child of a process that is sampled is, too, from before it runs.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(causalctl_child, struct task_struct* parent, struct task_struct* child) {
  struct WatchedProcesses* set = watched();
  if (!set || parent->tgid == child->tgid) return 0;
  if (has_process(set->sampled, parent->tgid)) add_process(set->sampled, child->tgid);
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

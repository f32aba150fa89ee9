// With a sample in a signal's handler that runs on a stack of its own, copies the stack that it has
// interrupted (perf/interrupted_stacks.h).
// clang-format off
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
// clang-format on

#include "controller/perf/bpf/numbers.bpf.h"
#include "controller/perf/bpf/watched.bpf.h"

struct task_struct {
  unsigned long sas_ss_sp, sas_ss_size;
} __attribute__((preserve_access_index));

#define STACK_OF_TASKS
#include "controller/perf/bpf/stack_copy.bpf.h"

static __always_inline void copy_interrupted(__u32 tid) {
  struct task_struct* current = bpf_get_current_task_btf();
  const struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(current);
  if (!on_handler_stack(current, regs->sp)) return;
  const __u32 core = bpf_get_smp_processor_id();
  struct StackRing* ring = acquire_ring(core);
  if (!ring) return;
  copy_stack(core, ring, 0, 0, tid, 1, regs, 0, 0, bpf_ktime_get_ns());
  release_ring(ring);
}

// As bpf/core_samples.bpf.c.
SEC("perf_event")
int causalctl_core(void* context) {
  const struct WatchedProcesses* set = watched();
  const struct Numbers running = current_numbers();
  if (!set || !has_process(set->sampled, running.process)) return 0;
  copy_interrupted(running.tid);
  return 1;
}

SEC("perf_event")
int causalctl_thread(void* context) {
  copy_interrupted(current_numbers().tid);
  return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

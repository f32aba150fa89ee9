// Counts the system calls of the watched processes by their numbers (perf/call_counts.h).
#include "controller/perf/bpf/call_counts.h"

#include "controller/perf/bpf/numbers.bpf.h"
#include "controller/perf/bpf/watched.bpf.h"
// clang-format off
#include <linux/ptrace.h>
#include <bpf/bpf_tracing.h>
// clang-format on

__u64 counts[COUNTED_CALLS];

SEC("tp_btf/sys_enter")
int BPF_PROG(causalctl_call, struct pt_regs* registers, long number) {
  const struct WatchedProcesses* set = watched();
  if (!set || number < 0 || number >= COUNTED_CALLS) return 0;
  if (!has_process(set->sampled, current_numbers().process)) return 0;
  __sync_fetch_and_add(&counts[number], 1);
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

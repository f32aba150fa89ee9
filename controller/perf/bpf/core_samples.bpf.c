// Keeps those samples of a core's clock that are of watched processes (perf/core_sampling.h).
#include "controller/perf/bpf/numbers.bpf.h"
#include "controller/perf/bpf/watched.bpf.h"

SEC("perf_event")
int causalctl_core(void* context) {
  const struct WatchedProcesses* set = watched();
  return set && has_process(set->sampled, current_numbers().process);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

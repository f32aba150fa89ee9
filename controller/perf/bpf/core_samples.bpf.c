// Keeps those samples of a core's clock that are of one process (perf/core_sampling.h).
#include "controller/perf/bpf/numbers.bpf.h"

const volatile __u32 target;

SEC("perf_event")
int causalctl_core(void* context) { return current_numbers().process == target; }

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Keeps those samples of a core's events that are of one process (perf/core_sampling.h).
#include "controller/perf/bpf/core_samples.h"

#include "controller/perf/bpf/numbers.bpf.h"

const volatile __u32 target;
struct LeaverSlot leavers[LEAVER_SLOTS];

SEC("perf_event")
int causalctl_core(void* context) { return current_numbers().process == target; }

// A thread leaves its core. Which times are sampled is drawn anew each time, because the switches
// of a program have a pattern. Threads that share a slot may write at the same time: then it is one
// sample more or less.
SEC("perf_event")
int causalctl_leaves(void* context) {
  const struct Numbers numbers = current_numbers();
  if (numbers.process != target) return 0;
  struct LeaverSlot* slot = &leavers[numbers.tid & (LEAVER_SLOTS - 1)];
  const __u32 every = slot->every;
  ++slot->left;
  // What was drawn when fewer were to be sampled does not hold any more.
  if (slot->skip > 0 && slot->skip < 2 * every) {
    --slot->skip;
    return 0;
  }
  slot->skip = every > 1 ? bpf_get_prandom_u32() % (2 * every - 1) : 0;
  return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

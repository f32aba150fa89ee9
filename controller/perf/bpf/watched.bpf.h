// The set of processes that a program follows, which several programs share
// (perf/process_bits.h).
#pragma once

#include <linux/types.h>

#include "controller/perf/bpf/watched.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct WatchedProcesses);
} watched_processes SEC(".maps");

static __always_inline struct WatchedProcesses* watched(void) {
  const __u32 only = 0;
  return bpf_map_lookup_elem(&watched_processes, &only);
}

static __always_inline int has_process(const __u64* words, __u32 process) {
  return words[process / WATCHED_WORD_BITS & (WATCHED_WORDS - 1)] >> process % WATCHED_WORD_BITS &
         1;
}

static __always_inline void add_process(__u64* words, __u32 process) {
  __sync_fetch_and_or(&words[process / WATCHED_WORD_BITS & (WATCHED_WORDS - 1)],
                      1ULL << process % WATCHED_WORD_BITS);
}

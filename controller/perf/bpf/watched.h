// What bpf/watched.bpf.h and perf/process_bits.cc share: the set of processes that BPF programs
// follow. In C, because the programs for the kernel are.
#pragma once

#include <linux/types.h>

enum {
  WATCHED_NUMBERS = 1 << 22,  // PID_MAX_LIMIT of include/linux/threads.h
  WATCHED_WORD_BITS = 64,
  WATCHED_WORDS = WATCHED_NUMBERS / WATCHED_WORD_BITS,
};

// Of process n, bit n % 64 of word n / 64.
struct WatchedProcesses {
  __u64 followed[WATCHED_WORDS];  // switches and wake-ups of their threads are recorded
  __u64 sampled[WATCHED_WORDS];   // their threads are sampled, too
};

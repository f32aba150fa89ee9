// What uprobe_hits.bpf.c and perf/uprobes.cc share. In C, because the program for the kernel is.
#pragma once

#include <linux/types.h>

enum UprobeTags {
  UPROBE_TAGS_RECORDED = 256,  // hits of tags below this are counted, and are in the ring
  UPROBE_TAGS_COUNTED = 512,   // hits of the other tags below this are counted only
};

enum {
  UPROBE_RESULT_OFFSET = 16,  // of a call's result in the data of its tracepoint (sys_exit_*)
};

// Hits of some tags are counted by thread and by core besides, in a row for each of these tags.
enum UprobeRows {
  UPROBE_ROWS = 64,
  UPROBE_THREADS = 1024,  // threads with the same number here count as one
};

static inline __u32 uprobe_thread(__u32 tid) { return tid * 2654435761U >> 22; }

struct UprobeRow {
  __u32 of_thread[UPROBE_THREADS];
};

struct UprobeUse {     // of the hits of a tag, besides
  __u32 row;           // in which they are counted by thread and core, plus 1; 0: in none
  __u32 copied_every;  // one of so many is copied with its stack, on average; 0: none
  __s32 copies_left;   // so many may still be copied
};

struct UprobeRecord {  // one hit in the ring
  __u64 time_ns;       // of CLOCK_MONOTONIC of the initial time namespace
  __u32 tid;
  __u32 tag;
};

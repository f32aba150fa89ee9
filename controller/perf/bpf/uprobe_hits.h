// What uprobe_hits.bpf.c and perf/uprobes.cc share. In C, because the program for the kernel is.
#pragma once

#include <linux/types.h>

enum UprobeTags {
  UPROBE_TAGS_RECORDED = 256,  // hits of tags below this are counted, and are in the ring
  UPROBE_TAGS_COUNTED = 512,   // hits of the other tags below this are counted only
};

struct UprobeRecord {  // one hit in the ring
  __u64 time_ns;       // of CLOCK_MONOTONIC of the initial time namespace
  __u32 tid;
  __u32 tag;
};

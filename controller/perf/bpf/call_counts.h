// call_counts.bpf.c and perf/call_counts.cc share this. It is in C, as the program for the kernel.
#pragma once

enum { COUNTED_CALLS = 1024 };  // more than there are

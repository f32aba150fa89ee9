// What scheduler.bpf.c and scheduler_watch.cc share: for each core a buffer of records. In C,
// because the program for the kernel is.
//
// A record takes some 50 ns. In a BPF ring it would take 200, most of them for a lock that all
// cores take.
#pragma once

#include <linux/types.h>

enum SchedulerRecordFlag {
  SCHEDULER_WAKING = 32,  // a wake-up; otherwise a switch
  // Of a switch.
  SCHEDULER_LEFT_IN_SET = 1,   // the thread that leaves the core is of a watched process
  SCHEDULER_CAME_IN_SET = 2,   // so is the one that comes
  SCHEDULER_LEFT_BLOCKED = 4,  // the thread that leaves goes to sleep; otherwise it wants to run
  // Of a wake-up: it was made in an interrupt, and the waker is the interrupted thread.
  SCHEDULER_IN_SOFTIRQ = 8,
  SCHEDULER_IN_HARDIRQ = 16,
};

// A record is small, because it goes through the caches of the program that is watched. Threads are
// numbered as in the initial pid namespace.
struct SchedulerRecord {
  __u64 time_ns;  // of CLOCK_MONOTONIC of the initial time namespace
  // From the lowest bit: the thread that leaves, or wakes; the one that comes, or is woken; flags
  // (SchedulerRecordFlag); where the thread leaves its core (leaving_slot()), if that is known; the
  // round. Written last.
  __u64 rest;
};

enum {
  SCHEDULER_TID_BITS = 22,  // PID_MAX_LIMIT of include/linux/threads.h
  SCHEDULER_FLAG_BITS = 6,
  SCHEDULER_SLOT_BITS = 12,
  // How often its place has been written, in as many bits: by that a record is known to be whole.
  // What is there before it is of the round before.
  SCHEDULER_ROUND_BITS = 2,
  SCHEDULER_RECORDS_LOG = 15,  // of a core: half a second of 60,000 a second
  SCHEDULER_RECORDS = 1 << SCHEDULER_RECORDS_LOG,
  // Places left free in a full buffer, for interrupts that write while a record is being written.
  SCHEDULER_SPARE = 8,
};

// Record n stands in records[n % SCHEDULER_RECORDS].
struct SchedulerBuffer {
  __u64 written;  // the number of the record that comes next
  __u64 lost;     // for want of room
  __u64 unused[6];
  __u64 read;  // the number of the record that is read next; written by the reader
  __u64 unused_too[7];
  struct SchedulerRecord records[SCHEDULER_RECORDS];
};

static inline __u64 scheduler_round(__u64 number) {
  const __u64 round = (number >> SCHEDULER_RECORDS_LOG) + 1;
  return round & ((1 << SCHEDULER_ROUND_BITS) - 1);
}

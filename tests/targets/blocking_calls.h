// The calls of blocking_calls.c: signal(7), "Interruption of system calls and library functions by
// signal handlers".
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { kTimeoutMs = 20 };
extern const struct timespec kTimeout;  // the same

struct blocking_call {
  const char* name;
  int (*make)(void);  // 0: as expected, an errno, or -1: something else
  bool has_timeout;   // makes it last kTimeout at least
  bool in_jiffies;    // the kernel counts its timeout in ticks: see came_early()
  bool forks;
};

// Ended by a timeout, or a timer.
extern const struct blocking_call calls_timed[];
extern const size_t calls_timed_count;
void set_up_timed(void);
void tear_down_timed(void);

// Ended by another thread: serve() ends a wait of each, and is to be called every kTimeout until
// the last has ended.
extern const struct blocking_call calls_served[];
extern const size_t calls_served_count;
void set_up_served(void);
void serve(void);
void tear_down_served(void);

// 0 where the call failed with `expected`, its errno where it failed otherwise, -1 where it did
// not.
int error_if(bool failed, int expected);
// kTimeout from now.
struct timespec timeout_on(clockid_t clock);

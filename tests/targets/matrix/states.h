// What a state of states.c is made of.
#pragma once

#include <stdlib.h>

#include "../harness.h"

struct state {
  const char* name;
  void (*before)(void);          // in the main thread, before there are others
  void (*in_each_thread)(void);  // in the two that always work, first
  void (*begin)(void);           // in the state's own thread, first
  void (*step)(void);            // … again and again; none: it has no thread
  void (*main_does)(void);
  bool ready_by_itself;  // says `ready` when it is so far
};

extern const struct state states[];  // ended by a null name

extern char** arguments;  // of main

// What the state has done, in its own unit, and how often that went wrong.
extern _Atomic uint64_t state_done;
extern _Atomic uint64_t state_failed;

// In state_odd.c.
void wait_for_signals_begin(void);
void wait_for_signals(void);
void blocked_until_exec(void);
void unblock_trap(void);
void make_ring(void);
void wait_by_epoll(void);
void dispatch_calls(void);
void work_without_calls(void);
void forbid_executable_memory(void);

bool little_work(void);  // 50 us of it; false: its result is wrong
void sleep_ms(double ms);
void wait_for_word(void);  // SIGUSR2: what is done once is to be done now

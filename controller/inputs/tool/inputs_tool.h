// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the parts of the tool know of each other. Numbers only, so that C and C++ both read it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kMostEvents = 8 };  // memory accesses that one call of inputs_block takes
enum { kNoRoutine = 0 };   // routines have numbers from 1

// An access in the code of a block: its size in bytes, and in the lowest bit whether it writes.
// Eight of them, of at most 127 bytes, are a 64-bit number, the first one in its lowest byte.
static inline uint64_t event_code(uint64_t size, int is_write) {
  return size << 1U | (is_write ? 1U : 0U);
}

struct InputsOptions {
  int cell_bits;  // the binary logarithm of a cell's size in bytes
  int aprof_compatible;
  const char* result;  // path of the file
  int interval_ms;     // between two writes of the result, at least
};

// tracking.cc: what happens, in the order in which it happens. Threads have Valgrind's numbers.
void inputs_begin(const struct InputsOptions* options);
void inputs_begin_thread(unsigned thread);
void inputs_end_thread(unsigned thread);
void inputs_switch(unsigned thread);
uint64_t* inputs_cost(void);  // of the current thread: basic blocks, and instructions after them
// `addresses`: as many as there are events, in the guest state of the thread.
void inputs_block(const char* guest_state, uint64_t events, uint64_t instructions);
void inputs_access(uint64_t address, uint64_t size, uint64_t is_write);
void inputs_call(uint64_t target, uint64_t stack_pointer);
// The same, where it is known which routine the call enters, or that it enters a linkage table.
void inputs_enter(uint64_t routine, uint64_t stack_pointer);
void inputs_enter_linkage(uint64_t stack_pointer);
void inputs_jump(uint64_t target, uint64_t stack_pointer);
void inputs_return(uint64_t stack_pointer);
void inputs_kernel_read(unsigned thread, uint64_t address, uint64_t size);
void inputs_kernel_write(unsigned thread, uint64_t address, uint64_t size);
// A handler begins or ends on a stack of its own. [low, high) is the thread's usual stack.
void inputs_begin_handler(unsigned thread, uint64_t low, uint64_t high);
void inputs_end_handler(unsigned thread);

// result.cc: writes the file, if it is time or `final`. After forget, nothing is written any more.
void inputs_write_if_due(void);
void inputs_write(int final);
void inputs_forget_result(void);

// routines.c
struct InputsPlace {
  unsigned routine;        // that begins here, once it was asked for; otherwise kNoRoutine
  unsigned char is_entry;  // by its symbol
  unsigned char is_plt;    // code of a procedure linkage table, which leads to a routine
};
struct InputsRoutine {
  unsigned module;  // index
  uint64_t offset;  // in the module's file, or an address if that is no file
};
const struct InputsPlace* inputs_place(uint64_t address);
unsigned inputs_routine_at(uint64_t address);  // makes one if there is none yet
const struct InputsRoutine* inputs_routine(unsigned number);
const char* inputs_module(unsigned index);  // its path; NULL: there is no such module
int inputs_is_loader(uint64_t address);     // whether the code at the address is the loader's
void inputs_unmapped(uint64_t address, uint64_t size);

// tool.c: what the rest needs of Valgrind.
void* inputs_allocate(size_t bytes);  // zeroed; NULL where there is no memory
void inputs_release(void* pointer, size_t bytes);
int inputs_open(const char* path);  // for writing; -1 if that fails
int inputs_write_all(int file, const char* bytes, size_t size);
int inputs_close_as(int file, const char* from, const char* to);
unsigned inputs_now_ms(void);
extern unsigned inputs_slots;  // offset of the addresses of a block in the guest state

#ifdef __cplusplus
}
#endif

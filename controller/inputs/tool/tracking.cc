// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Gives what the program does to the core, which computes the input sizes (core/trms.h).
//
// Which activations are pending follows from the stack pointer alone: an activation has ended when
// its return address is below it. That holds for returns, longjmp, exceptions and chains of tail
// calls. A jump to the entry of another function is a tail call: an activation within the one that
// jumps, with the same return address, so that one return ends both.
//
// A call into a procedure linkage table is a call of the routine that the table leads to. What the
// loader does to find that routine is no cost and no input of anybody (paper's aprof: the same):
// from the jump into the loader, where the stack has grown, to the jump back, nothing is counted.
#include "controller/inputs/tool/tracking.h"

#include <cstddef>
#include <cstdint>
#include <new>

#include "controller/inputs/core/trms.h"
#include "controller/inputs/tool/inputs_tool.h"

namespace causalctl::inputs::tool {
namespace {

constexpr std::size_t kMostThreads = 65536;  // numbers of threads, which Valgrind uses again

struct State {
  OneThread* tracked = nullptr;
  std::uint64_t linkage_call = 0;  // stack pointer of a call that is in a linkage table; 0: none
  bool resolving = false;          // the loader looks for the routine
  std::uint64_t cost_before[core::kUnits] = {};  // it looks
  std::size_t floor = 0;  // activations that were pending when a handler began
  bool in_handler = false;
  std::uint64_t stack_low = 0, stack_high = 0;  // the usual stack, while a handler runs on another
};

constexpr unsigned kUsualCellBits = 2;

// It stands at a fixed place, which is quicker to reach.
alignas(Tracker) unsigned char tracker_place[sizeof(Tracker)];
Tracker* const tracker = reinterpret_cast<Tracker*>(tracker_place);
bool has_usual_cells = false;
bool quick = false;  // usual cells, and the current thread is not resolving
State* states[kMostThreads];
State* current = nullptr;
std::uint32_t threads_begun = 0;

State* state_of(unsigned thread) { return thread < kMostThreads ? states[thread] : nullptr; }

void return_to(std::uint64_t stack_pointer) {
  if (current->in_handler && stack_pointer >= current->stack_low &&
      stack_pointer < current->stack_high) {  // it was left by longjmp
    current->in_handler = false;
    current->floor = 0;
  }
  tracker->return_to(stack_pointer, current->floor);
}

void decide_quickness() { quick = has_usual_cells && current != nullptr && !current->resolving; }

// The events of a block that access_quickly() cannot take, and all that follow.
[[gnu::noinline]] void take_events(const std::uint64_t* address, std::uint64_t events) {
  if (current == nullptr || current->resolving) return;
  for (; events != 0; events >>= 8U, ++address) {
    const std::uint64_t size = (events & 0xffU) >> 1U;
    if ((events & 1U) != 0) {
      tracker->write(*address, size);
    } else {
      tracker->read(*address, size);
    }
  }
}

// The activations that were in the place of the new one, and below, have been left by longjmp.
void enter(std::uint32_t routine, std::uint64_t stack_pointer) {
  return_to(stack_pointer + 1);
  tracker->call(routine, stack_pointer);
}

void begin_resolving() {
  current->resolving = true;
  decide_quickness();
  for (std::size_t unit = 0; unit < core::kUnits; ++unit) {
    current->cost_before[unit] = tracker->cost[unit];
  }
}

void end_resolving() {
  current->resolving = false;
  decide_quickness();
  for (std::size_t unit = 0; unit < core::kUnits; ++unit) {
    tracker->cost[unit] = current->cost_before[unit];
  }
}

// Follows a call through a linkage table. Returns whether the jump was a part of it.
bool follow_linkage(const InputsPlace& place, std::uint64_t target, std::uint64_t stack_pointer) {
  if (stack_pointer > current->linkage_call) {  // it was given up
    if (current->resolving) end_resolving();
    current->linkage_call = 0;
    return false;
  }
  if (place.is_plt) return true;
  if (stack_pointer == current->linkage_call) {
    if (current->resolving) end_resolving();
    current->linkage_call = 0;
    enter(inputs_routine_at(target), stack_pointer);
    return true;
  }
  if (!current->resolving) begin_resolving();
  return true;
}

}  // namespace

const Tracker& the_tracker() { return *tracker; }

}  // namespace causalctl::inputs::tool

using namespace causalctl::inputs;
using namespace causalctl::inputs::tool;

void inputs_begin(const InputsOptions* options) {
  begin_result(*options);
  core::Options wanted;
  wanted.cell_bits = static_cast<unsigned>(options->cell_bits);
  wanted.early_writes_are_thread_input = options->aprof_compatible != 0;
  new (tracker_place) Tracker(wanted);
  has_usual_cells = wanted.cell_bits == kUsualCellBits;
}

void inputs_begin_thread(unsigned thread) {
  if (thread >= kMostThreads) return;
  if (states[thread] == nullptr) {
    states[thread] = static_cast<State*>(inputs_allocate(sizeof(State)));
  }
  *states[thread] = State{};
  states[thread]->tracked = tracker->begin_thread(++threads_begun);
}

void inputs_end_thread(unsigned thread) {
  State* const state = state_of(thread);
  if (state == nullptr || state->tracked == nullptr) return;
  inputs_switch(thread);
  if (state->resolving) end_resolving();
  tracker->end_thread(*state->tracked);
  state->tracked = nullptr;
  current = nullptr;
  decide_quickness();
}

void inputs_switch(unsigned thread) {
  State* const state = state_of(thread);
  if (state == nullptr || state->tracked == nullptr) return;
  if (state == current) return;
  current = state;
  tracker->switch_to(*state->tracked);
  decide_quickness();
}

std::uint64_t* inputs_cost() { return tracker->cost; }

void inputs_block(const char* guest_state, std::uint64_t events, std::uint64_t instructions) {
  tracker->cost[0] += instructions != 0 ? 1 : 0;
  tracker->cost[1] += instructions;
  const auto* address = reinterpret_cast<const std::uint64_t*>(guest_state + inputs_slots);
  if (!quick) return take_events(address, events);
  for (; events != 0; events >>= 8U, ++address) {
    const bool done = tracker->access_quickly<kUsualCellBits>(*address, (events & 0xffU) >> 1U,
                                                              (events & 1U) != 0);
    if (!done) return take_events(address, events);
  }
}

void inputs_access(std::uint64_t address, std::uint64_t size, std::uint64_t is_write) {
  if (current == nullptr || current->resolving || size == 0) return;
  if (is_write != 0) {
    tracker->write(address, size);
  } else {
    tracker->read(address, size);
  }
}

void inputs_call(std::uint64_t target, std::uint64_t stack_pointer) {
  if (inputs_place(target)->is_plt) {
    inputs_enter_linkage(stack_pointer);
  } else {
    inputs_enter(inputs_routine_at(target), stack_pointer);
  }
}

void inputs_enter(std::uint64_t routine, std::uint64_t stack_pointer) {
  if (current == nullptr || current->resolving) return;
  enter(static_cast<std::uint32_t>(routine), stack_pointer);
}

void inputs_enter_linkage(std::uint64_t stack_pointer) {
  if (current == nullptr || current->resolving) return;
  current->linkage_call = stack_pointer;
}

void inputs_jump(std::uint64_t target, std::uint64_t stack_pointer) {
  if (current == nullptr) return;
  const InputsPlace place = *inputs_place(target);
  if (current->linkage_call != 0 && follow_linkage(place, target, stack_pointer)) return;
  return_to(stack_pointer);
  if (place.is_plt) {
    current->linkage_call = stack_pointer;  // a tail call through a table
  } else if (place.is_entry && tracker->depth() > 0 &&
             tracker->top().stack_pointer == stack_pointer &&
             tracker->top().routine != inputs_routine_at(target)) {
    tracker->call(inputs_routine_at(target), stack_pointer);
  }
}

void inputs_return(std::uint64_t stack_pointer) {
  if (current == nullptr || current->resolving) return;
  return_to(stack_pointer);
}

void inputs_kernel_read(unsigned thread, std::uint64_t address, std::uint64_t size) {
  inputs_switch(thread);
  inputs_access(address, size, 0);
}

void inputs_kernel_write(unsigned thread, std::uint64_t address, std::uint64_t size) {
  inputs_switch(thread);
  if (current != nullptr && size != 0) tracker->kernel_write(address, size);
}

void inputs_begin_handler(unsigned thread, std::uint64_t low, std::uint64_t high) {
  inputs_switch(thread);
  if (current == nullptr || current->in_handler) return;
  current->in_handler = true;
  current->floor = tracker->depth();
  current->stack_low = low;
  current->stack_high = high;
}

void inputs_end_handler(unsigned thread) {
  inputs_switch(thread);
  if (current == nullptr || !current->in_handler) return;
  tracker->pop_to(current->floor);
  current->in_handler = false;
  current->floor = 0;
}

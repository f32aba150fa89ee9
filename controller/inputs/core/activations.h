// The stack of a thread's pending routine activations (input-sensitive profiling, §4.2: S_t).
//
// Invariants: stamps strictly ascend from the bottom to the top. The sizes are partial: an
// activation's size is the sum of its own partial size and those of all above it (equation 2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/inputs/core/memory.h"
#include "controller/inputs/core/shadow.h"

namespace causalctl::inputs::core {

inline constexpr std::size_t kUnits = 2;  // of cost: basic blocks and instructions

// The sizes of an activation in cells. Partial ones may be negative.
struct Sizes {
  std::int64_t rms = 0;
  std::int64_t trms = 0;
  std::int64_t external = 0;  // of trms: written by the kernel before
  std::int64_t thread = 0;    // of trms: written by another thread before

  void add(const Sizes& other) {
    rms += other.rms;
    trms += other.trms;
    external += other.external;
    thread += other.thread;
  }
};

struct Activation {
  std::uint64_t stack_pointer = 0;  // at its entry, where the address is to which it returns
  std::uint32_t routine = 0;
  Stamp stamp = 0;
  bool outermost = true;  // not within another activation of the same routine
  Sizes sizes;
  std::uint64_t before[kUnits] = {};    // what the thread had cost when it began
  std::uint64_t children[kUnits] = {};  // what those that it called have cost
};

// Returns the index of the latest activation that began at `stamp` or before (Fig. 11, procedure
// read, line 7). The latest ones are tried first, because most memory is used again soon.
// REQUIRES: the bottom one has begun by then.
template <class Memory>
std::size_t activation_at(const List<Memory, Activation>& stack, Stamp stamp) {
  constexpr std::size_t kNear = 4;
  std::size_t high = stack.size();  // it, and all above, began later
  for (std::size_t i = 0; i < kNear && high > 1; ++i) {
    if (stack[high - 1].stamp <= stamp) return high - 1;
    --high;
  }
  std::size_t low = 0;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (stack[middle].stamp <= stamp ? low : high) = middle;
  }
  return low;
}

}  // namespace causalctl::inputs::core

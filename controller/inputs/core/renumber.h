// Numbers all time stamps anew, when the counter is about to overflow (input-sensitive profiling,
// §4.4, Fig. 13). Only the order of stamps of one cell matters, and that between these and the
// stamps of pending activations. Three values for each pending activation suffice to keep it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/inputs/core/activations.h"
#include "controller/inputs/core/memory.h"
#include "controller/inputs/core/shadow.h"

namespace causalctl::inputs::core {

inline constexpr Stamp kByKernel = 0x80000000;  // the bit of wts: the kernel wrote
inline constexpr Stamp kLastStamp = 0x7fffffff;

template <class Memory>
using Stamps = List<Memory, Stamp>;

// Heap sort, ascending.
template <class Memory>
void sort(Stamps<Memory>& stamps) {
  const auto sift = [&](std::size_t root, std::size_t size) {
    for (std::size_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
      if (child + 1 < size && stamps[child] < stamps[child + 1]) ++child;
      if (stamps[child] <= stamps[root]) return;
      const Stamp moved = stamps[root];
      stamps[root] = stamps[child];
      stamps[child] = moved;
      root = child;
    }
  };
  for (std::size_t root = stamps.size() / 2; root-- > 0;) sift(root, stamps.size());
  for (std::size_t last = stamps.size(); last-- > 1;) {
    const Stamp moved = stamps[0];
    stamps[0] = stamps[last];
    stamps[last] = moved;
    sift(0, last);
  }
}

// Returns how many of the sorted stamps are at most `stamp`: the paper's index q or j, from 1.
template <class Memory>
Stamp rank(const Stamps<Memory>& sorted, Stamp stamp) {
  std::size_t low = 0;
  std::size_t high = sorted.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (sorted[middle] <= stamp) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<Stamp>(low);
}

// Returns the new stamp of a thread's last access to a cell (lines 12 to 17), and 0 for 0.
// `before`: the last access; `written`: the last write by anyone; q: its rank.
template <class Memory>
Stamp renumbered_access(const Stamps<Memory>& sorted, Stamp before, Stamp written, Stamp q) {
  if (before == 0) return 0;
  const Stamp j = rank(sorted, before);
  if (j != q) return 3 * j;
  if (before == written) return 3 * q + 1;
  return before < written ? 3 * q : 3 * q + 2;
}

// Returns false where there is no memory to do it; nothing is changed then. The threads that have
// ended have no stamps. `count` becomes larger than all stamps.
template <class Memory, class Threads>
[[nodiscard]] bool renumber(Threads& threads, Shadow<Memory>& writes, Stamp& count) {
  Stamps<Memory> sorted;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    if (!threads[t]->live) continue;
    const auto& stack = threads[t]->stack;
    for (std::size_t i = 0; i < stack.size(); ++i) {
      if (!sorted.push(stack[i].stamp)) return false;
    }
  }
  sort(sorted);
  for (std::size_t c = 0; c < writes.chunks().size(); ++c) {
    const auto chunk = writes.chunks()[c];
    const auto rank_of_write = [&](std::size_t cell) {
      return rank(sorted, chunk.cells[cell] & kLastStamp);
    };
    for (std::size_t t = 0; t < threads.size(); ++t) {
      Stamp* const accesses = threads[t]->accesses.chunk_if_there(chunk.base);
      if (accesses == nullptr) continue;
      for (std::size_t cell = 0; cell < writes.chunk_cells(); ++cell) {
        if (accesses[cell] == 0) continue;
        accesses[cell] = renumbered_access(sorted, accesses[cell], chunk.cells[cell] & kLastStamp,
                                           rank_of_write(cell));
      }
    }
    for (std::size_t cell = 0; cell < writes.chunk_cells(); ++cell) {
      Stamp& written = chunk.cells[cell];
      if (written != 0) written = (3 * rank_of_write(cell) + 1) | (written & kByKernel);
    }
  }
  for (std::size_t t = 0; t < threads.size(); ++t) {
    if (!threads[t]->live) continue;
    auto& stack = threads[t]->stack;
    for (std::size_t i = 0; i < stack.size(); ++i) {
      stack[i].stamp = 3 * rank(sorted, stack[i].stamp);
    }
  }
  count = 3 * static_cast<Stamp>(sorted.size()) + 3;
  return true;
}

}  // namespace causalctl::inputs::core

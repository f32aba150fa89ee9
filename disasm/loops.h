// Finds the loops of a control-flow graph, and what its code leads to. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "disasm/graph.h"

namespace causalctl::disasm {

struct Loop {
  std::size_t head = 0;             // a block, as all others
  std::vector<std::size_t> blocks;  // in ascending order
  std::vector<std::size_t> entered_from;
};

// Returns natural loops: for each head all blocks that lead back to it and that it dominates (Aho,
// Sethi, Ullman, "Compilers", section 10.4), none for a function that is very long.
std::vector<Loop> loops_of(const Graph& graph);

// Returns for each instruction of the graph whether it is one of `from`, or one of these leads to
// it. `stops`: for each instruction, whether nothing follows it; empty if that is so for none.
std::vector<bool> reached_from(const Graph& graph, std::span<const std::size_t> from,
                               const std::vector<bool>& stops = {});

}  // namespace causalctl::disasm

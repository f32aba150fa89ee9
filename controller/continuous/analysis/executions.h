// What exact counts say of the instructions and edges of a function. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "controller/continuous/record/exact_counts.h"
#include "disasm/graph.h"

namespace causalctl::continuous {

// callgrind counts the iterations of a repeated instruction, with a jump onto itself after each.
inline bool is_repeat(const disasm::Instruction& instruction, const Jump& jump) {
  return jump.to == instruction.address && instruction.mnemonic.starts_with("rep");
}

// A repeated instruction is executed once, however often it repeats.
std::uint64_t executions_of(const ExactCounts& counts, const disasm::Instruction& instruction);

// Calls `take` with each other jump from the instruction, and how often it was taken.
template <typename Take>
void for_each_jump(const ExactCounts& counts, const disasm::Instruction& instruction, Take take) {
  auto jump = counts.jumps.lower_bound({instruction.address, 0});
  for (; jump != counts.jumps.end() && jump->first.from == instruction.address; ++jump) {
    if (!is_repeat(instruction, jump->first)) take(jump->first, jump->second);
  }
}

// How often control passed along an edge between two blocks.
std::uint64_t passes_of(const ExactCounts& counts, const disasm::Graph& graph,
                        const disasm::Edge& edge);

}  // namespace causalctl::continuous

// What callgrind's counts say of an instruction.
#pragma once

#include <algorithm>
#include <cstdint>

#include "controller/continuous/record/exact_counts.h"
#include "disasm/instruction.h"

namespace causalctl {

// callgrind counts the iterations of a repeated instruction, with a jump onto itself after each.
inline bool is_repeat(const disasm::Instruction& instruction, const continuous::Jump& jump) {
  return jump.to == instruction.address && instruction.mnemonic.starts_with("rep");
}

inline std::uint64_t executions_of(const continuous::ExactCounts& counts,
                                   const disasm::Instruction& instruction) {
  const auto found = counts.instructions.find(instruction.address);
  if (found == counts.instructions.end()) return 0;
  const auto again = counts.jumps.find({instruction.address, instruction.address});
  const bool repeats = again != counts.jumps.end() && is_repeat(instruction, again->first);
  return repeats ? found->second - std::min(found->second, again->second) : found->second;
}

// Calls `take` with each other jump from the instruction, and how often it was taken.
template <typename Take>
void for_each_jump(const continuous::ExactCounts& counts, const disasm::Instruction& instruction,
                   Take take) {
  auto jump = counts.jumps.lower_bound({instruction.address, 0});
  for (; jump != counts.jumps.end() && jump->first.from == instruction.address; ++jump) {
    if (!is_repeat(instruction, jump->first)) take(jump->first, jump->second);
  }
}

}  // namespace causalctl

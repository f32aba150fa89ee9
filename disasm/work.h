// What an instruction has the processor do, as far as it tells how long it may take: by mnemonics
// and operands. Pure.
#pragma once

#include "disasm/instruction.h"

namespace causalctl::disasm {

enum class Work : std::uint8_t {
  plain,        // takes one cycle, or few that are always the same
  divide,       // divides, or takes a root: as many cycles as the operands want
  locked,       // reads and writes memory as one, for all cores
  fence,        // waits until what is before it is done
  repeated,     // rep: steps of microcode
  system_call,  // runs the kernel
};
Work work_of(const Instruction& instruction);

// Moves data from memory, by an operand: not only its address, as lea and prefetches take.
bool reads_memory(const Instruction& instruction);

// The cycles from when its operands are there until its result is, with memory in the first-level
// cache: typical ones by kind, of which most processors take as many or fewer. 0: as many as its
// work wants.
double latency_of(const Instruction& instruction);

}  // namespace causalctl::disasm

// The registers of a sample. Passive.
#pragma once

#include <cstdint>

namespace causalctl::unwind {

// The 64-bit general registers in the order of asm/perf_regs.h (PERF_REG_X86_AX …): the index is
// the bit.
struct Registers {
  std::uint64_t values[24] = {};
};

}  // namespace causalctl::unwind

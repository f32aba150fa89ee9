// Unwinds call chains by libunwind from copied registers and stack (a perf sample).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

// The 64-bit general registers in the order of asm/perf_regs.h (PERF_REG_X86_AX …): the index is
// the bit.
struct Registers {
  std::uint64_t values[24] = {};
};

class Unwinder {
 public:
  explicit Unwinder(Pid target);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  void refresh();  // call it when mappings have changed

  // Returns at most `depth` addresses: the instruction pointer, then return addresses, outermost
  // last. `stack` has the bytes at and above the stack pointer; other memory is read from the
  // target. Where the copy is short because of a hole in the stack, the hole is mended
  // (stack_holes.h).
  std::vector<Address> unwind(const Registers& registers, std::span<const std::byte> stack,
                              std::size_t depth);
  bool last_complete() const;   // true if the last chain ended at the outermost frame
  bool last_from_copy() const;  // true if the last chain needed no stack but the copy
  bool last_searched() const;  // true if a caller in the last chain was searched for, so is a guess

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::unwind

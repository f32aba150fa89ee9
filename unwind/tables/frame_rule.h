// How the caller of a frame is found: what a row of an unwind table comes to for the registers that
// a chain needs. Passive.
#pragma once

#include <cstdint>

namespace causalctl::unwind {

struct FrameRule {
  enum class Kind : std::uint8_t {
    simple,     // by the fields below; the return address is at CFA - 8
    outermost,  // the return address is undefined: nothing called this
    other,      // only libunwind can evaluate it
  };
  enum class Cfa : std::uint8_t {
    sp,     // RSP + cfa_offset
    bp,     // RBP + cfa_offset
    at_bp,  // the word at RBP + cfa_offset: functions that align their stack (DRAP)
    // RSP + cfa_offset, and 8 more from the instruction on whose address, modulo 16, is plt_from:
    // an entry of the procedure linkage table pushes a word there.
    plt,
  };
  enum class Bp : std::uint8_t {
    same,   // the register has the caller's value
    saved,  // at CFA + bp_offset
    at_bp,  // at RBP + bp_offset
    lost,
  };

  std::int32_t cfa_offset = 0;
  std::int32_t bp_offset = 0;
  Kind kind = Kind::other;
  Cfa cfa = Cfa::sp;
  Bp bp = Bp::same;
  std::uint8_t plt_from = 0;
  bool operator==(const FrameRule&) const = default;
};
static_assert(sizeof(FrameRule) == 12);

}  // namespace causalctl::unwind

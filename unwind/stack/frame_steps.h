// Goes from one frame of a chain to its caller's, by the rules of the files' unwind tables
// (code_facts.h), which need three registers: RIP, RSP and RBP. For a rule that needs more,
// libunwind follows the chain anew from the last frame of which all registers are known, up to the
// frame in question. Signal frames are read as the kernel wrote them (signal_frame.h), and Go's by
// Go's own table.
#pragma once

#include <asm/perf_regs.h>

#include <cstddef>
#include <optional>

#include "controller/base/types.h"
#include "unwind/stack/chain.h"
#include "unwind/stack/code_facts.h"
#include "unwind/stack/libunwind_steps.h"
#include "unwind/stack/registers.h"
#include "unwind/stack/sampled_stack.h"

namespace causalctl::unwind {

inline constexpr Address kLargestUserStack = 1U << 30U;

struct FramePosition {
  Address ip = 0;
  Address sp = 0;
  Address bp = 0;
  bool returned = false;  // ip is an address to return to
  bool operator==(const FramePosition&) const = default;
};

struct FrameStep {
  FramePosition caller;
  Address cfa = 0;  // of the frame that was left; 0 if it is not known
  FrameHow how = FrameHow::table;
  std::optional<ChainEnd> end;  // set if there is no caller
};

// The registers from which libunwind can follow the chain.
struct FrameBase {
  Registers registers;
  std::size_t steps = 0;  // how many frames the present one is above it

  void move_to(const FramePosition& at) {
    registers.values[PERF_REG_X86_IP] = at.returned ? at.ip - 1 : at.ip;
    registers.values[PERF_REG_X86_SP] = at.sp;
    registers.values[PERF_REG_X86_BP] = at.bp;
    steps = 0;
  }
};

inline FramePosition position_of(const Registers& registers) {
  return {registers.values[PERF_REG_X86_IP], registers.values[PERF_REG_X86_SP],
          registers.values[PERF_REG_X86_BP], false};
}

class FrameSteps {
 public:
  // Both must outlive it.
  FrameSteps(SampledStack& stack, LibunwindSteps& libunwind)
      : stack_(stack), libunwind_(libunwind) {}

  // Returns the step from the frame at `at`, of whose code the facts are, and moves `base` with it.
  FrameStep from(const FramePosition& at, const CodeFacts& facts, FrameBase& base);
  FrameStep by_rule(const FramePosition& at, const FrameRule& rule);

 private:
  FrameStep by_libunwind(FrameBase& base);
  FrameStep by_signal(const FramePosition& at, FrameBase& base);
  FrameStep by_go_table(const FramePosition& at, const CodeFacts& facts);
  FrameStep cut_off(Address address) const;

  SampledStack& stack_;
  LibunwindSteps& libunwind_;
};

}  // namespace causalctl::unwind

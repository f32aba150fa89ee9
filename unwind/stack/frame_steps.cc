// Compilers describe no restoring of registers, so that after `pop %rbp` the rule for RBP names the
// slot that was popped. It is below the stack pointer; the register itself still has the value.
#include "unwind/stack/frame_steps.h"

#include <cstdint>

#include "unwind/stack/signal_frame.h"

namespace causalctl::unwind {
namespace {

constexpr Address kStackWord = sizeof(Address);

FrameStep ended(ChainEnd end) {
  FrameStep step;
  step.end = end;
  return step;
}

}  // namespace

FrameStep FrameSteps::from(const FramePosition& at, const CodeFacts& facts, FrameBase& base) {
  FrameStep step;
  switch (facts.kind) {
    case CodeFacts::Kind::table:
      if (facts.rule.kind == FrameRule::Kind::other) return by_libunwind(base);
      ++base.steps;
      return by_rule(at, facts.rule);
    case CodeFacts::Kind::signal_return:
      return by_signal(at, base);
    case CodeFacts::Kind::go:
    case CodeFacts::Kind::go_switch:
    case CodeFacts::Kind::go_preempt:
      step = by_go_table(at, facts);
      base.move_to(step.caller);
      return step;
    case CodeFacts::Kind::outermost:
    case CodeFacts::Kind::context_end:
    case CodeFacts::Kind::unknown:
      break;
  }
  return ended(ChainEnd::outermost);
}

// How a chain ends whose next word is at an address that cannot be read. A longer copy would not
// have that of another stack.
FrameStep FrameSteps::cut_off(Address address) const {
  const bool on_stack = address >= stack_.sp() && address - stack_.sp() < kLargestUserStack;
  const bool is_short = on_stack && stack_.is_on_own_stack();
  return ended(is_short ? ChainEnd::copy_short : ChainEnd::unreadable);
}

FrameStep FrameSteps::by_rule(const FramePosition& at, const FrameRule& rule) {
  const auto offset = [](std::int32_t bytes) { return static_cast<Address>(std::int64_t{bytes}); };
  FrameStep step;
  switch (rule.cfa) {
    case FrameRule::Cfa::sp:
      step.cfa = at.sp + offset(rule.cfa_offset);
      break;
    case FrameRule::Cfa::bp:
      step.cfa = at.bp + offset(rule.cfa_offset);
      break;
    case FrameRule::Cfa::at_bp:
      step.cfa = stack_.word(at.bp + offset(rule.cfa_offset)).value_or(0);
      break;
    case FrameRule::Cfa::plt:
      step.cfa = at.sp + offset(rule.cfa_offset) + (at.ip % 16 >= rule.plt_from ? kStackWord : 0);
      break;
  }
  if (step.cfa <= at.sp) return ended(ChainEnd::unreadable);
  const auto return_address = stack_.word(step.cfa - kStackWord);
  if (!return_address) return cut_off(step.cfa - kStackWord);
  stack_.has_return_address(step.cfa - kStackWord, *return_address);
  const auto saved = [&](Address slot) {
    return slot < at.sp ? at.bp : stack_.word(slot).value_or(0);
  };
  Address bp = at.bp;
  if (rule.bp == FrameRule::Bp::saved) bp = saved(step.cfa + offset(rule.bp_offset));
  if (rule.bp == FrameRule::Bp::at_bp) bp = saved(at.bp + offset(rule.bp_offset));
  if (rule.bp == FrameRule::Bp::lost) bp = 0;
  step.caller = {*return_address, step.cfa, bp, true};
  return step;
}

FrameStep FrameSteps::by_libunwind(FrameBase& base) {
  const auto steps = libunwind_.follow(base.registers, ++base.steps);
  const auto found = steps.size() == base.steps ? steps.back() : LibunwindSteps::Step();
  if (found.outcome == LibunwindSteps::Outcome::outermost) return ended(ChainEnd::outermost);
  if (found.outcome == LibunwindSteps::Outcome::failed) {
    const bool is_short = stack_.failed_live() && stack_.is_on_own_stack();
    return ended(is_short ? ChainEnd::copy_short : ChainEnd::unreadable);
  }
  FrameStep step;
  step.caller = {found.ip, found.sp, found.bp, !found.signal};
  step.cfa = found.sp;
  step.how = found.signal ? FrameHow::signal : FrameHow::libunwind;
  return step;
}

FrameStep FrameSteps::by_signal(const FramePosition& at, FrameBase& base) {
  const auto registers =
      interrupted(at.sp, [this](Address address) { return stack_.word(address); });
  if (!registers) return cut_off(at.sp);
  base = FrameBase{*registers, 0};
  FrameStep step;
  step.caller = position_of(*registers);
  stack_.cross(step.caller.sp);
  step.cfa = step.caller.sp;
  step.how = FrameHow::signal;
  return step;
}

FrameStep FrameSteps::by_go_table(const FramePosition& at, const CodeFacts& facts) {
  FrameStep step = by_rule(at, facts.rule);
  if (step.end) return step;
  // The table tells where the frame pointer is saved, but not from which instruction on.
  const bool has_frame = at.returned || at.bp == step.cfa - 2 * kStackWord;
  if (!has_frame) step.caller.bp = at.bp;
  if (facts.kind == CodeFacts::Kind::go_preempt) {
    step.caller.returned = false;
    step.how = FrameHow::signal;
  }
  return step;
}

}  // namespace causalctl::unwind

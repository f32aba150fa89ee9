#include "unwind/stack/go_stack.h"

namespace causalctl::unwind {
namespace {

constexpr Address kGoWord = sizeof(Address);
constexpr Address kSearched = 8192;

// Returns whether the frame from `sp` on, of the function that is returned to, saved RBP at `bp`.
bool saves_at(Address bp, Address return_address, Address sp, const GoCode& code) {
  const auto in_use = code.stack_at(return_address);
  return in_use && *in_use >= kGoWord && sp + *in_use - kGoWord == bp;
}

}  // namespace

std::optional<GoCaller> go_caller_on_other_stack(Address function, Address bp, const GoCode& code) {
  if (bp % kGoWord != 0 || bp < kSearched) return std::nullopt;
  for (Address at = bp + kGoWord; at > bp - kSearched; at -= kGoWord) {
    const auto value = code.word(at);
    if (!value) break;
    const auto target = code.call_target(*value);
    if (!target || !code.enters(*target, function)) continue;
    const Address sp = at + kGoWord;
    // The switching function saved RBP itself.
    if (at == bp + kGoWord) return GoCaller{*value, sp, code.word(bp).value_or(0)};
    if (saves_at(bp, *value, sp, code)) return GoCaller{*value, sp, bp};
    // More stack is asked for before the function has made its frame.
    const auto above = code.word(sp);
    const auto in_use = code.stack_at(*value);
    if (above && in_use == Address{0} && saves_at(bp, *above, sp + kGoWord, code)) {
      return GoCaller{*value, sp, bp};
    }
  }
  return std::nullopt;
}

}  // namespace causalctl::unwind

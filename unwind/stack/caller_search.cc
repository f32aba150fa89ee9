#include "unwind/stack/caller_search.h"

#include <algorithm>
#include <array>
#include <optional>

#include "unwind/tables/call_site.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kWordsSearched = 256;
constexpr std::size_t kMostUnlikely = 4;
constexpr Address kWord = sizeof(Address);
constexpr Address kLargestFunction = 1U << 16U;
constexpr int kMostJumps = 4;
constexpr std::size_t kShortFunction = 48;  // one that only prepares the call of another

struct Slot {
  Address at = 0;  // on the stack
  Address value = 0;
  CallSite call;
};

class Search {
 public:
  Search(const UnknownFrame& frame, const CodeAndStack& target)
      : frame_(frame),
        target_(target),
        first_(std::max(target.last_entry(frame.ip), frame.ip - kLargestFunction)) {}

  std::vector<PossibleCaller> callers() {
    const auto slots = return_slots();
    const Slot* top = !slots.empty() && slots.front().at == frame_.sp ? &slots.front() : nullptr;
    if (top != nullptr && frame_.innermost && !top->call.target) add(*top, true);
    if (const Slot* slot = direct_caller(slots)) add(*slot, true);
    by_frame_pointer();
    std::size_t unlikely = 0;
    for (const Slot& slot : slots) {
      const bool is_first = slot.at + kWord == target_.stack_begin;  // start-up code may jump on
      if (!is_first && (slot.call.target || unlikely == kMostUnlikely)) continue;
      if (add(slot, false)) ++unlikely;
    }
    return std::move(callers_);
  }

 private:
  std::optional<Address> word(Address at) const {
    Address value = 0;
    if (!target_.read(at, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }

  std::optional<CallSite> call_ending_at(Address address) const {
    if (!target_.is_code(address) || !target_.is_code(address - kLongestCall)) return std::nullopt;
    std::array<std::byte, kLongestCall> code{};
    if (!target_.read(address - code.size(), code)) return std::nullopt;
    const auto call = call_before(code, address);
    if (call && call->target && !target_.is_code(*call->target)) return std::nullopt;
    return call;
  }

  std::vector<Slot> return_slots() const {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < kWordsSearched; ++i) {
      const Address at = frame_.sp + i * kWord;
      const auto value = word(at);
      if (!value) break;
      if (const auto call = call_ending_at(*value)) slots.push_back({at, *value, *call});
    }
    return slots;
  }

  // Returns the distance from the start of the function that the call leads to, or nullopt if the
  // code of the frame cannot belong to that.
  std::optional<Address> distance_from(Address target) const {
    for (int i = 0; i < kMostJumps; ++i) {
      if (target <= frame_.ip && target >= first_) return frame_.ip - target;
      std::array<std::byte, kShortFunction> code{};
      if (!target_.is_code(target) || !target_.read(target, code)) return std::nullopt;
      const auto jump = jump_at(code, target);
      if (!jump && jumps_into(code, target, first_, frame_.ip)) return frame_.ip - first_;
      if (!jump) return std::nullopt;
      const auto next = jump->indirect ? word(jump->address) : jump->address;
      if (!next) return std::nullopt;
      target = *next;
    }
    return std::nullopt;
  }

  // Of the direct calls on the stack, the one whose function begins nearest before the code.
  const Slot* direct_caller(const std::vector<Slot>& slots) const {
    const Slot* nearest = nullptr;
    Address smallest = 0;
    for (const Slot& slot : slots) {
      const auto distance = slot.call.target ? distance_from(*slot.call.target) : std::nullopt;
      if (!distance || (nearest != nullptr && *distance >= smallest)) continue;
      nearest = &slot;
      smallest = *distance;
    }
    return nearest;
  }

  void by_frame_pointer() {
    if (frame_.bp < frame_.sp || frame_.bp % kWord != 0) return;
    const Address at = frame_.bp + kWord;
    const auto value = word(at);
    const auto call = value ? call_ending_at(*value) : std::nullopt;
    if (call) add({at, *value, *call}, true);
  }

  bool add(const Slot& slot, bool likely) {
    const Address sp = slot.at + kWord;
    const auto known = std::any_of(callers_.begin(), callers_.end(),
                                   [&](const PossibleCaller& each) { return each.sp == sp; });
    if (known) return false;
    const bool by_bp = slot.at == frame_.bp + kWord;
    callers_.push_back({slot.value, sp, by_bp ? word(frame_.bp).value_or(0) : frame_.bp, likely});
    return true;
  }

  const UnknownFrame& frame_;
  const CodeAndStack& target_;
  Address first_;  // where the function of the frame may begin
  std::vector<PossibleCaller> callers_;
};

}  // namespace

std::vector<PossibleCaller> possible_callers(const UnknownFrame& frame,
                                             const CodeAndStack& target) {
  return Search(frame, target).callers();
}

bool is_outermost(const UnknownFrame& frame, const CodeAndStack& target) {
  Address saved = 0;
  const Address beyond = frame.sp + kWordsSearched * kWord;
  if (frame.innermost || target.read(beyond, std::as_writable_bytes(std::span(&saved, 1)))) {
    return false;
  }
  if (frame.bp >= frame.sp && frame.bp % kWord == 0 &&
      target.read(frame.bp, std::as_writable_bytes(std::span(&saved, 1)))) {
    return saved == 0;
  }
  return frame.bp == 0;
}

}  // namespace causalctl::unwind

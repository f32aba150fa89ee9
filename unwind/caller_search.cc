#include "unwind/caller_search.h"

#include <algorithm>
#include <array>
#include <optional>

#include "unwind/call_site.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kWordsSearched = 64;
constexpr std::size_t kMostUnlikely = 4;
constexpr Address kWord = sizeof(Address);
constexpr Address kLargestFunction = 1U << 16U;
constexpr int kMostJumps = 4;

struct Slot {
  Address at = 0;  // on the stack
  Address value = 0;
  CallSite call;
};

class Search {
 public:
  Search(const UnknownFrame& frame, const CodeAndStack& target) : frame_(frame), target_(target) {}

  std::vector<PossibleCaller> callers() {
    const auto slots = return_slots();
    if (const Slot* slot = direct_caller(slots)) add(slot->at, slot->value, frame_.bp, true);
    if (frame_.innermost && !slots.empty() && slots.front().at == frame_.sp) {
      add(slots.front().at, slots.front().value, frame_.bp, true);
    }
    by_frame_pointer();
    std::size_t unlikely = 0;
    for (const Slot& slot : slots) {
      if (slot.call.target || unlikely == kMostUnlikely) continue;
      if (add(slot.at, slot.value, frame_.bp, false)) ++unlikely;
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
      if (target <= frame_.ip && frame_.ip - target < kLargestFunction) return frame_.ip - target;
      std::array<std::byte, 16> code{};
      if (!target_.is_code(target) || !target_.read(target, code)) return std::nullopt;
      const auto jump = jump_at(code, target);
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
    const auto caller_bp = word(frame_.bp);
    const auto value = word(frame_.bp + kWord);
    if (caller_bp && value && call_ending_at(*value)) {
      add(frame_.bp + kWord, *value, *caller_bp, true);
    }
  }

  bool add(Address at, Address value, Address bp, bool likely) {
    const auto known =
        std::any_of(callers_.begin(), callers_.end(),
                    [&](const PossibleCaller& each) { return each.sp == at + kWord; });
    if (!known) callers_.push_back({value, at + kWord, bp, likely});
    return !known;
  }

  const UnknownFrame& frame_;
  const CodeAndStack& target_;
  std::vector<PossibleCaller> callers_;
};

}  // namespace

std::vector<PossibleCaller> possible_callers(const UnknownFrame& frame,
                                             const CodeAndStack& target) {
  return Search(frame, target).callers();
}

}  // namespace causalctl::unwind

#include "unwind/stack/outer_part.h"

#include <algorithm>
#include <utility>

#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostParts = 8;
constexpr std::size_t kFewestFrames = 64;  // that are worth keeping
constexpr Address kLargest = 4U << 20U;    // of a stack

Address sp_of(const OuterFrame& frame) { return frame.at.sp; }

}  // namespace

std::span<const OuterFrame> OuterParts::find(const FramePosition& at) {
  for (const Part& part : parts_) {
    const auto found =
        std::lower_bound(part.frames.begin(), part.frames.end(), at.sp,
                         [](const OuterFrame& frame, Address sp) { return sp_of(frame) < sp; });
    if (found == part.frames.end() || !(found->at == at)) continue;
    const Address offset = at.sp - sp_of(part.frames.front());
    const auto before = std::span(part.stack).subspan(offset);
    now_.resize(before.size());
    if (!read_target(target_, at.sp, now_)) continue;
    if (!std::equal(before.begin(), before.end(), now_.begin())) continue;
    return std::span(part.frames).subspan(static_cast<std::size_t>(found - part.frames.begin()));
  }
  return {};
}

void OuterParts::keep(std::vector<OuterFrame> frames) {
  const auto rises = [](const OuterFrame& a, const OuterFrame& b) { return sp_of(a) >= sp_of(b); };
  if (frames.size() < kFewestFrames) return;
  if (std::adjacent_find(frames.begin(), frames.end(), rises) != frames.end()) return;
  const Address low = sp_of(frames.front());
  const Address high = sp_of(frames.back());
  if (high - low > kLargest) return;
  std::erase_if(parts_, [&](const Part& part) {  // of the same stack
    return sp_of(part.frames.front()) < high && low < sp_of(part.frames.back());
  });
  if (parts_.size() == kMostParts) parts_.erase(parts_.begin());
  Part part{std::move(frames), std::vector<std::byte>(high - low)};
  if (read_target(target_, low, part.stack)) parts_.push_back(std::move(part));
}

}  // namespace causalctl::unwind

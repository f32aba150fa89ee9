#include "controller/perf/leaving_samples.h"

#include <algorithm>
#include <utility>

namespace causalctl::perf {

LeavingSamples::LeavingSamples(StackCopies copies, std::span<LeavingSlot> slots)
    : copies_(copies), slots_(slots), left_before_(slots.size()) {
  for (LeavingSlot& slot : slots_) slot.every = 1;
}

void LeavingSamples::read(unsigned most_bytes, std::vector<SampleEvent>& into) {
  const std::size_t before = into.size();
  copies_.read(most_bytes, into);
  for (SampleEvent& sample : std::span(into).subspan(before)) {
    sample.in_kernel = true;
    if (sample.tag >= LEAVING_SLOTS) {
      sample.reason = SampleReason::waking;
      sample.woken = static_cast<Tid>(std::exchange(sample.number, 0));
      sample.tag = 0;
    } else {
      sample.reason = SampleReason::leaving;
      sample.time_ns -= 1;  // before the switch
    }
  }
}

void LeavingSamples::adapt(unsigned most) {
  std::vector<std::uint32_t> left(slots_.size());  // how often since the last call
  std::size_t used = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint32_t all = __atomic_load_n(&slots_[i].left, __ATOMIC_RELAXED);
    left[i] = all - std::exchange(left_before_[i], all);
    if (left[i] > 0) ++used;
  }
  const StackCopies::Use use = copies_.use();
  if (use.copies > 0 && used > 0) {  // less than there is room for
    const std::uint64_t each = use.room / 4 * 3 * use.copies / use.pieces / used;
    most = static_cast<unsigned>(std::clamp<std::uint64_t>(each, 1, std::max(1U, most)));
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (left_before_[i] == 0) continue;  // it was never used
    LeavingSlot& slot = slots_[i];
    const std::uint32_t every = std::max({1U, (left[i] + most - 1) / most, slot.every / 2});
    if (every != slot.every) __atomic_store_n(&slot.every, every, __ATOMIC_RELAXED);
  }
}

}  // namespace causalctl::perf

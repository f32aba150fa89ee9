#include "controller/perf/leaving_samples.h"

#include <algorithm>
#include <utility>

#include "controller/perf/attrs.h"
#include "controller/perf/kernel_time.h"

namespace causalctl::perf {
namespace {

constexpr std::size_t kPointer = 7;  // in the order of the registers

}  // namespace

LeavingSamples::LeavingSamples(std::span<LeavingRing> rings, std::span<LeavingPiece> pieces,
                               std::span<LeavingSlot> slots)
    : rings_(rings), pieces_(pieces), slots_(slots), left_before_(slots.size()) {
  for (LeavingSlot& slot : slots_) slot.every = 1;
}

std::span<const LeavingPiece> LeavingSamples::pieces_of(std::size_t core) const {
  const std::size_t each = pieces_.size() / rings_.size();
  return pieces_.subspan(core * each, each);
}

void LeavingSamples::read(unsigned most_bytes, std::vector<SampleEvent>& into) {
  for (std::size_t core = 0; core < rings_.size(); ++core) {
    LeavingRing& ring = rings_[core];
    const std::uint64_t end = __atomic_load_n(&ring.written, __ATOMIC_ACQUIRE);
    std::uint64_t next = ring.read;
    if (next != end) ++rings_used_;
    pieces_read_ += end - next;
    while (next != end) {
      SampleEvent& sample = into.emplace_back();
      next = read_sample(core, next, end, most_bytes, sample);
      ++samples_;
    }
    __atomic_store_n(&ring.read, end, __ATOMIC_RELEASE);
  }
}

// Returns the number of the piece after it.
std::uint64_t LeavingSamples::read_sample(std::size_t core, std::uint64_t number, std::uint64_t end,
                                          unsigned most_bytes, SampleEvent& sample) const {
  const auto pieces = pieces_of(core);
  const LeavingPiece& first = pieces[number % pieces.size()];
  sample.thread = {static_cast<Tid>(first.tid), 0};
  sample.time_ns = own_time(first.time_ns) - 1;  // before the switch
  sample.cpu = static_cast<std::uint32_t>(core);
  sample.in_kernel = true;
  sample.reason = SampleReason::leaving;
  sample.user.mask = kUserRegisters;
  sample.user.registers.assign(std::begin(first.registers), std::end(first.registers));
  sample.stack_pointer = first.registers[kPointer];
  const auto frames = std::min<std::uint64_t>(first.kernel_frames, LEAVING_KERNEL_FRAMES);
  sample.kernel.assign(first.kernel, first.kernel + frames);
  auto& stack = sample.user.stack;
  do {
    const LeavingPiece& piece = pieces[number % pieces.size()];
    const auto bytes = std::as_bytes(std::span(piece.stack))
                           .first(std::min<std::size_t>(piece.bytes, most_bytes - stack.size()));
    stack.insert(stack.end(), bytes.begin(), bytes.end());
    ++number;
  } while (number != end && pieces[number % pieces.size()].slot == 0);
  sample.tag = first.slot;
  sample.user.truncated = stack.empty() || stack.size() == most_bytes;
  return number;
}

void LeavingSamples::adapt(unsigned most) {
  std::vector<std::uint32_t> left(slots_.size());  // how often since the last call
  std::size_t used = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint32_t all = __atomic_load_n(&slots_[i].left, __ATOMIC_RELAXED);
    left[i] = all - std::exchange(left_before_[i], all);
    if (left[i] > 0) ++used;
  }
  if (samples_ > 0 && used > 0) {  // less than there is room for
    const std::uint64_t room = rings_used_ * pieces_.size() / rings_.size() / 4 * 3;
    const std::uint64_t each = room * samples_ / pieces_read_ / used;
    most = static_cast<unsigned>(std::clamp<std::uint64_t>(each, 1, std::max(1U, most)));
  }
  samples_ = pieces_read_ = rings_used_ = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (left_before_[i] == 0) continue;  // it was never used
    LeavingSlot& slot = slots_[i];
    const std::uint32_t every = std::max({1U, (left[i] + most - 1) / most, slot.every / 2});
    if (every != slot.every) __atomic_store_n(&slot.every, every, __ATOMIC_RELAXED);
  }
}

}  // namespace causalctl::perf

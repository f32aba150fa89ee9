// Of how many events one is sampled, on average. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace causalctl::perf {

class SampledPart {
 public:
  // One of `first` at the beginning, and of `fewest` at the least.
  SampledPart(std::uint64_t first, std::uint64_t fewest) : fewest_(fewest), every_(first) {}

  std::uint64_t every() const { return every_; }
  // Call it regularly with the number of samples since the last call. Samples fewer of the events
  // if there were more than `most`, and more if there were few in each of several calls. Returns
  // whether every() has changed.
  bool adapt(std::uint64_t samples, std::uint64_t most) {
    const std::uint64_t before = every_;
    if (samples > most) every_ = std::min(every_ * (samples / most + 1), kMost);
    // One call with many is enough: events that come in bursts would fill the ring each time.
    had_many_ = had_many_ || samples * kFewParts > most;
    if (++calls_ == kCalls) {
      calls_ = 0;
      if (!std::exchange(had_many_, false)) every_ = std::max(every_ / 2, fewest_);
    }
    return every_ != before;
  }

 private:
  static constexpr std::uint64_t kMost = 1ULL << 32;
  static constexpr std::uint64_t kFewParts = 4;  // few: up to a fourth of what may be
  static constexpr unsigned kCalls = 8;          // after which more events may be sampled

  std::uint64_t fewest_;
  std::uint64_t every_;
  // Since it was last asked whether more may be sampled: calls of adapt(), and whether there were
  // not few samples in one of them.
  unsigned calls_ = 0;
  bool had_many_ = false;
};

}  // namespace causalctl::perf

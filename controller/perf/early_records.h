// Keeps what was recorded of threads and processes that are not known yet, because the record of
// their birth was not read. Each is tried again only when one with its number has come, so that
// waiting costs nothing: in a set of all processes of a machine, thousands may wait. Pure.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::perf {

template <typename Record>
class EarlyRecords {
 public:
  // Keeps a record of the thread or process with this number.
  void keep(Tid of, Nanoseconds time_ns, Record record) {
    by_number_[of].push_back({time_ns, std::move(record)});
  }

  // Calls give(Record&) for those of each number, in the order in which they were kept, and drops
  // those for which it returns true.
  template <typename Give>
  void give(std::span<const Tid> numbers, Give&& give) {
    for (const Tid number : numbers) {
      const auto kept = by_number_.find(number);
      if (kept == by_number_.end()) continue;
      std::erase_if(kept->second, [&](Kept& each) { return give(each.record); });
      if (kept->second.empty()) by_number_.erase(kept);
    }
  }
  // The same for all that are kept.
  template <typename Give>
  void give_all(Give&& give) {
    erase_if([&](Kept& each) { return give(each.record); });
  }

  // Drops those of before this time, or does nothing if it did so less than kSweepEvery ago.
  void drop_older(Nanoseconds than_ns) {
    if (than_ns < next_sweep_ns_) return;
    next_sweep_ns_ = than_ns + kSweepEvery;
    erase_if([&](const Kept& each) { return each.time_ns < than_ns; });
  }

  std::size_t size() const {
    std::size_t count = 0;
    for (const auto& [number, kept] : by_number_) count += kept.size();
    return count;
  }

  static constexpr Nanoseconds kSweepEvery = 50 * kMillisecond;

 private:
  struct Kept {
    Nanoseconds time_ns;
    Record record;
  };

  template <typename IsDone>
  void erase_if(IsDone&& is_done) {
    for (auto kept = by_number_.begin(); kept != by_number_.end();) {
      std::erase_if(kept->second, is_done);
      kept = kept->second.empty() ? by_number_.erase(kept) : std::next(kept);
    }
  }

  std::unordered_map<Tid, std::vector<Kept>> by_number_;
  Nanoseconds next_sweep_ns_ = 0;
};

}  // namespace causalctl::perf

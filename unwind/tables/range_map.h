// Maps address ranges to values: a look-up finds the innermost (latest starting) range that
// contains an address. Ranges may nest and overlap, as those of compilation units do after
// link-time optimisation. Pure.
//
// Ranges are sorted by start, each with the largest end so far. A search walks left from the last
// range that starts at or before the address, and stops when no earlier range can reach the
// address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

template <typename Value>
class RangeMap {
 public:
  struct Range {
    Address low = 0;
    Address high = 0;  // one beyond the end
    Value value{};
  };

  RangeMap() = default;
  // Takes ranges in any order and drops empty ones.
  explicit RangeMap(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    std::erase_if(ranges_, [](const Range& each) { return each.low >= each.high; });
    std::stable_sort(ranges_.begin(), ranges_.end(),
                     [](const Range& a, const Range& b) { return a.low < b.low; });
    Address reach = 0;
    for (const Range& each : ranges_) {
      reach = std::max(reach, each.high);
      reach_.push_back(reach);
    }
  }

  const Range* find(Address address) const {
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), address,
                         [](Address wanted, const Range& each) { return wanted < each.low; });
    for (auto index = static_cast<std::size_t>(after - ranges_.begin()); index-- > 0;) {
      if (reach_[index] <= address) break;
      if (address < ranges_[index].high) return &ranges_[index];
    }
    return nullptr;
  }

  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
  std::vector<Address> reach_;  // the largest end of ranges_[0..i]
};

}  // namespace causalctl::unwind

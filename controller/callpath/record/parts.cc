#include "controller/callpath/record/parts.h"

#include <algorithm>
#include <utility>

namespace causalctl::callpath {
namespace {

// Share of its length from which a part is whole. Logs are written to about every second.
constexpr double kWhole = 0.75;
constexpr double kOwn = 0.5;  // from which a rest is a part of its own

// REQUIRES: `next` begins where `part` ends.
void join(Part& part, Part&& next) {
  part.end_ns = next.end_ns;
  for (auto& [key, slice] : next.slices) {
    Slice& into = part.slices[key];
    for (const auto& [node, value] : slice) into[node] += value;
  }
}

bool is_long(const Part& part, double share, Nanoseconds length_ns) {
  return static_cast<double>(part.end_ns - part.begin_ns) >= share * static_cast<double>(length_ns);
}

}  // namespace

void Parts::add(const SliceKey& key, NodeId node, std::uint64_t value) {
  // Bounds of calls say nothing of how much there was of anything.
  const bool is_bound = key.metric >= Metric::new_min && key.metric <= Metric::new_below;
  if (value == 0 || is_bound) return;
  open_.slices[key][node] += value;
}

void Parts::until(Nanoseconds time_ns) {
  open_.end_ns = std::max(open_.end_ns, time_ns);
  if (!is_long(open_, kWhole, length_ns_)) return;
  Part next;
  next.begin_ns = next.end_ns = open_.end_ns;
  parts_.push_back(std::exchange(open_, std::move(next)));
  if (parts_.size() == kMost) join_pairs();
}

void Parts::join_pairs() {
  std::vector<Part> joined;
  for (std::size_t i = 0; i < parts_.size(); i += 2) {
    joined.push_back(std::move(parts_[i]));
    if (i + 1 < parts_.size()) join(joined.back(), std::move(parts_[i + 1]));
  }
  parts_ = std::move(joined);
  length_ns_ *= 2;
}

std::vector<Part> Parts::take() {
  if (parts_.empty() || is_long(open_, kOwn, length_ns_)) {
    parts_.push_back(std::move(open_));
  } else {
    join(parts_.back(), std::move(open_));
  }
  return std::move(parts_);
}

}  // namespace causalctl::callpath

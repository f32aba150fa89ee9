#include "controller/callpath/calls_seen.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace causalctl::callpath {
namespace {

// Adds up what is below each node. What wraps around below 0 comes back with the rest of the sum.
class Sums {
 public:
  explicit Sums(const CallTree& tree) : tree_(tree), values_(tree.size(), 0) {}
  void plus(const Slice& slice) {
    for (const auto& [node, value] : slice) values_[node] += value;
  }
  void minus(const Slice& slice) {
    for (const auto& [node, value] : slice) values_[node] -= value;
  }
  std::vector<std::uint64_t> take() {
    for (auto node = static_cast<NodeId>(values_.size()); node-- > 1;) {
      values_[tree_.node(node).parent] += values_[node];
    }
    return std::move(values_);
  }

 private:
  const CallTree& tree_;
  std::vector<std::uint64_t> values_;
};

bool is_raw(Metric metric) {
  return metric == Metric::chains || metric == Metric::new_to || metric == Metric::new_below;
}

}  // namespace

void count_calls(const std::vector<bool>& is_new, NodeId node, std::uint32_t epoch,
                 std::uint32_t group, Recording& recording) {
  if (is_new.empty()) return;
  recording.add({epoch, group, Metric::chains}, node, 1);
  bool was_new = false;
  for (const bool now : is_new) {
    if (now && !was_new) recording.add({epoch, group, Metric::new_to}, node, 1);
    if (!now && was_new) recording.add({epoch, group, Metric::new_below}, node, 1);
    was_new = now;
    node = recording.tree.node(node).parent;
  }
  // All that is below the root needs no such value.
  if (was_new && node != kRoot) recording.add({epoch, group, Metric::new_below}, node, 1);
}

bool sum_calls(Recording& recording, std::uint64_t most) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> parts;  // epochs and groups
  for (const auto& [key, slice] : recording.slices) {
    if (is_raw(key.metric)) parts.emplace(key.epoch, key.group);
  }
  for (const auto& [epoch, group] : parts) {
    Sums at_most(recording.tree), at_least(recording.tree);
    at_most.plus(recording.slices[{epoch, group, Metric::chains}]);
    at_least.plus(recording.slices[{epoch, group, Metric::new_to}]);
    at_least.minus(recording.slices[{epoch, group, Metric::new_below}]);
    const auto new_max = at_most.take();
    const auto new_min = at_least.take();
    for (NodeId node = 1; node < recording.tree.size(); ++node) {
      if (new_max[node] > most) return false;
      most -= new_max[node];
      recording.add({epoch, group, Metric::new_max}, node, new_max[node]);
      // A log that was cut off may have some of the last values and not the others.
      const auto certain = static_cast<std::int64_t>(new_min[node]);
      recording.add({epoch, group, Metric::new_min}, node,
                    certain < 0 ? 0 : std::min(new_min[node], new_max[node]));
    }
  }
  std::erase_if(recording.slices, [](const auto& entry) { return is_raw(entry.first.metric); });
  return true;
}

}  // namespace causalctl::callpath

#include "controller/callpath/record/calls_seen.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <set>
#include <utility>

namespace causalctl::callpath {
namespace {

struct Bounds {
  std::uint64_t most = 0;
  std::uint64_t least = 0;  // what wraps around below 0 comes back with the rest of the sum
  bool is_waiting = false;  // in Sums::waiting_
};

// Sums over the nodes of one epoch and group after the other.
class Sums {
 public:
  explicit Sums(Recording& recording) : recording_(recording), bounds_(recording.tree.size()) {}

  bool sum(std::uint32_t epoch, std::uint32_t group, std::uint64_t& left);

 private:
  Bounds& at(NodeId node);

  Recording& recording_;
  std::vector<Bounds> bounds_;           // by node; all 0 between two sums
  std::priority_queue<NodeId> waiting_;  // children before their parents
};

Bounds& Sums::at(NodeId node) {
  Bounds& bounds = bounds_[node];
  if (!std::exchange(bounds.is_waiting, true)) waiting_.push(node);
  return bounds;
}

bool Sums::sum(std::uint32_t epoch, std::uint32_t group, std::uint64_t& left) {
  for (const Metric metric : {Metric::chains, Metric::new_to, Metric::new_below}) {
    const auto slice = recording_.slices.find({epoch, group, metric});
    if (slice == recording_.slices.end()) continue;
    for (const auto& [node, value] : slice->second) {
      Bounds& each = at(node);
      if (metric == Metric::chains) each.most += value;
      if (metric == Metric::new_to) each.least += value;
      if (metric == Metric::new_below) each.least -= value;
    }
  }
  Slice& most = recording_.slices[{epoch, group, Metric::new_max}];
  Slice& least = recording_.slices[{epoch, group, Metric::new_min}];
  while (!waiting_.empty()) {
    const NodeId node = waiting_.top();
    waiting_.pop();
    const Bounds sum = std::exchange(bounds_[node], {});
    if (node == kRoot) continue;
    if (sum.most > left) return false;
    left -= sum.most;
    Bounds& above = at(recording_.tree.node(node).parent);
    above.most += sum.most;
    above.least += sum.least;
    if (sum.most > 0) most[node] += sum.most;
    // A log that was cut off may have some of the last values and not the others.
    const bool is_negative = static_cast<std::int64_t>(sum.least) < 0;
    const std::uint64_t certain = is_negative ? 0 : std::min(sum.least, sum.most);
    if (certain > 0) least[node] += certain;
  }
  return true;
}

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

bool sum_calls(Recording& recording, std::uint64_t& left) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> parts;  // epochs and groups
  for (const auto& [key, slice] : recording.slices) {
    if (is_raw(key.metric)) parts.emplace(key.epoch, key.group);
  }
  Sums sums(recording);
  for (const auto& [epoch, group] : parts) {
    if (!sums.sum(epoch, group, left)) return false;
  }
  std::erase_if(recording.slices, [](const auto& entry) {
    return is_raw(entry.first.metric) || entry.second.empty();
  });
  return true;
}

}  // namespace causalctl::callpath

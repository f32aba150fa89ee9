#include "controller/callpath/calls_seen.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace causalctl::callpath {
namespace {

struct Bounds {
  std::uint64_t most = 0;
  std::uint64_t least = 0;  // what wraps around below 0 comes back with the rest of the sum
};
using BoundsByNode = std::map<NodeId, Bounds, std::greater<>>;  // children before their parents

BoundsByNode ends_of_paths(const Recording& recording, std::uint32_t epoch, std::uint32_t group) {
  BoundsByNode bounds;
  for (const Metric metric : {Metric::chains, Metric::new_to, Metric::new_below}) {
    const auto slice = recording.slices.find({epoch, group, metric});
    if (slice == recording.slices.end()) continue;
    for (const auto& [node, value] : slice->second) {
      Bounds& each = bounds[node];
      if (metric == Metric::chains) each.most += value;
      if (metric == Metric::new_to) each.least += value;
      if (metric == Metric::new_below) each.least -= value;
    }
  }
  return bounds;
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
  for (const auto& [epoch, group] : parts) {
    BoundsByNode bounds = ends_of_paths(recording, epoch, group);
    while (!bounds.empty() && bounds.begin()->first != kRoot) {
      const auto [node, sum] = *bounds.begin();
      bounds.erase(bounds.begin());
      if (sum.most > left) return false;
      left -= sum.most;
      Bounds& above = bounds[recording.tree.node(node).parent];
      above.most += sum.most;
      above.least += sum.least;
      recording.add({epoch, group, Metric::new_max}, node, sum.most);
      // A log that was cut off may have some of the last values and not the others.
      const bool is_negative = static_cast<std::int64_t>(sum.least) < 0;
      recording.add({epoch, group, Metric::new_min}, node,
                    is_negative ? 0 : std::min(sum.least, sum.most));
    }
  }
  std::erase_if(recording.slices, [](const auto& entry) { return is_raw(entry.first.metric); });
  return true;
}

}  // namespace causalctl::callpath

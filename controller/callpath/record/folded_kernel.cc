#include "controller/callpath/record/folded_kernel.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

namespace causalctl::callpath {
namespace {

Slice folded(const Slice& slice, const std::vector<NodeId>& user) {
  Slice result;
  for (const auto& [node, value] : slice) result[user[node]] += value;
  return result;
}

// Whether a node is a function of the kernel.
bool is_in_kernel(const Recording& recording, NodeId id) {
  if (id == kRoot) return false;
  const Location& location = recording.locations.at(recording.tree.node(id).location);
  return recording.modules.at(location.module).path == kKernel;
}

// Returns for each node the nearest one above it that is not the kernel's, or itself.
std::vector<NodeId> user_nodes(const Recording& recording) {
  std::vector<NodeId> user(recording.tree.size(), kRoot);
  for (NodeId id = 1; id < user.size(); ++id) {
    user[id] = is_in_kernel(recording, id) ? user[recording.tree.node(id).parent] : id;
  }
  return user;
}

}  // namespace

bool has_kernel_part(const Recording& recording) {
  return std::any_of(recording.modules.begin(), recording.modules.end(),
                     [](const Module& module) { return module.path == kKernel; });
}

double kernel_share(const Recording& recording) {
  double all = 0, in_kernel = 0;
  for (const auto& [key, slice] : recording.slices) {
    if (key.metric != Metric::cpu_ns) continue;
    for (const auto& [node, value] : slice) {
      all += static_cast<double>(value);
      if (is_in_kernel(recording, node)) in_kernel += static_cast<double>(value);
    }
  }
  return all > 0 ? in_kernel / all : 0;
}

void fold_kernel(Recording& recording) {
  if (!has_kernel_part(recording)) return;
  const std::vector<NodeId> user = user_nodes(recording);
  for (auto& [key, slice] : recording.slices) slice = folded(slice, user);
  for (Part& part : recording.parts) {
    for (auto& [key, slice] : part.slices) slice = folded(slice, user);
  }
  for (auto& [group, sums] : recording.wakers) {
    std::remove_reference_t<decltype(sums)> all;
    for (const auto& [pair, value] : sums) all[{user[pair.first], user[pair.second]}] += value;
    sums = std::move(all);
  }
}

}  // namespace causalctl::callpath

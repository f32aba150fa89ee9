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

// Returns for each node the nearest one above it that is not the kernel's, or itself.
std::vector<NodeId> user_nodes(const Recording& recording) {
  std::vector<NodeId> user(recording.tree.size(), kRoot);
  for (NodeId id = 1; id < user.size(); ++id) {
    const CallTree::Node& node = recording.tree.node(id);
    const Location& location = recording.locations.at(node.location);
    const bool is_kernel = recording.modules.at(location.module).path == kKernel;
    user[id] = is_kernel ? user[node.parent] : id;
  }
  return user;
}

}  // namespace

bool has_kernel_part(const Recording& recording) {
  return std::any_of(recording.modules.begin(), recording.modules.end(),
                     [](const Module& module) { return module.path == kKernel; });
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

#include "controller/callpath/record/call_tree.h"

#include "controller/base/error.h"

namespace causalctl::callpath {

NodeId CallTree::child(NodeId parent, LocationId location) {
  INVARIANT(parent < nodes_.size());
  const std::uint64_t key = std::uint64_t{parent} << 32 | location;
  const auto [found, is_new] = children_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back({parent, location});
  return found->second;
}

std::optional<NodeId> CallTree::find(NodeId parent, LocationId location) const {
  const auto found = children_.find(std::uint64_t{parent} << 32 | location);
  return found == children_.end() ? std::nullopt : std::optional(found->second);
}

NodeId CallTree::path(std::span<const LocationId> locations) {
  NodeId end = kRoot;
  for (const LocationId location : locations) end = child(end, location);
  return end;
}

}  // namespace causalctl::callpath

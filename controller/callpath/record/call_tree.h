// The calling context tree (csprof §2.2): a node for each distinct path of calls. Pure.
//
// A node is one location below its parent: the call that the parent's function makes, or, at the
// end of a path, the instruction that was executed. Recursion is kept: each activation is a node.
// Nodes have numbers, and a parent has a smaller one than its children, so that a walk from the
// last node to the first sums up whole subtrees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace causalctl::callpath {

using LocationId = std::uint32_t;  // index in Recording::locations
using NodeId = std::uint32_t;

inline constexpr NodeId kRoot = 0;

class CallTree {
 public:
  struct Node {
    NodeId parent = kRoot;
    LocationId location = 0;  // means nothing for the root
  };

  // Returns the child, which is made if it is not there. REQUIRES: parent < size().
  NodeId child(NodeId parent, LocationId location);
  std::optional<NodeId> find(NodeId parent, LocationId location) const;
  // Returns the end of the path, outermost location first; the root for an empty one.
  NodeId path(std::span<const LocationId> locations);

  const Node& node(NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }  // includes the root

 private:
  std::vector<Node> nodes_{Node{}};
  std::unordered_map<std::uint64_t, NodeId> children_;  // by parent and location
};

}  // namespace causalctl::callpath

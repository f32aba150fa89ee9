// Builds the tree of a profile, node by node. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

class ProfileTree {
 public:
  using Node = report::callpath::Node;

  explicit ProfileTree(std::size_t columns) : columns_(columns, std::vector<std::uint64_t>(1)) {}

  // Returns the child, which is made if it is not there. REQUIRES: parent < nodes().size().
  std::uint32_t child(std::uint32_t parent, std::uint32_t frame) {
    const auto fresh = static_cast<std::uint32_t>(nodes_.size());
    const auto [entry, is_new] = children_.try_emplace(std::uint64_t{parent} << 32 | frame, fresh);
    if (is_new) {
      nodes_.push_back({parent, frame});
      for (auto& column : columns_) column.push_back(0);
    }
    return entry->second;
  }
  void add(std::uint32_t node, std::size_t column, std::uint64_t value) {
    columns_[column][node] += value;
  }
  void add(std::uint32_t node, const std::vector<std::uint64_t>& values) {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      add(node, column, values[column]);
    }
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  // Puts the tree into `profile`. REQUIRES: it is the last use.
  void move_to(report::callpath::Profile& profile) {
    profile.nodes = std::move(nodes_);
    profile.own = std::move(columns_);
  }

 private:
  std::vector<Node> nodes_{Node{}};
  std::vector<std::vector<std::uint64_t>> columns_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by parent and frame
};

}  // namespace causalctl::callpath

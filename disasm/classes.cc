#include "disasm/classes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace causalctl::disasm {
namespace {

constexpr std::uint64_t kSeed = 0x5eed;  // the same graph has the same classes each time

// An undirected graph with parallel edges. The outside is node 0, and block b has a node for its
// beginning, 2b + 1, and one for its end, 2b + 2.
class Labels {
 public:
  explicit Labels(std::size_t nodes) : at_(nodes), label_of_node_(nodes) {}

  void add(std::size_t from, std::size_t to) {
    at_[from].push_back(ends_.size());
    if (from != to) at_[to].push_back(ends_.size());
    ends_.emplace_back(from, to);
  }

  // Returns the label of each edge, in the order in which they were added.
  std::vector<std::uint64_t> labels() {
    labels_.assign(ends_.size(), 0);
    is_seen_.assign(at_.size(), false);
    for (std::size_t node = 0; node < at_.size(); ++node) {
      if (!is_seen_[node]) walk_from(node);
    }
    return std::move(labels_);
  }

 private:
  struct Step {
    std::size_t node = 0;
    std::size_t edge = 0;  // by which it was reached; ends_.size() for the first node
    std::size_t next = 0;  // of the edges at the node
  };

  // Depth first, without recursion: functions have thousands of blocks.
  void walk_from(std::size_t root) {
    std::vector<Step> way = {{root, ends_.size(), 0}};
    is_seen_[root] = true;
    while (!way.empty()) {
      Step& here = way.back();
      if (here.next == at_[here.node].size()) {
        const Step done = here;
        way.pop_back();
        if (way.empty()) break;
        labels_[done.edge] = label_of_node_[done.node];
        label_of_node_[way.back().node] ^= label_of_node_[done.node];
        continue;
      }
      const std::size_t edge = at_[here.node][here.next++];
      if (edge == here.edge || labels_[edge] != 0) continue;
      const std::size_t to =
          ends_[edge].first == here.node ? ends_[edge].second : ends_[edge].first;
      if (!is_seen_[to]) {
        is_seen_[to] = true;
        way.push_back({to, edge, 0});
        continue;
      }
      labels_[edge] = random_();
      label_of_node_[here.node] ^= labels_[edge];
      label_of_node_[to] ^= labels_[edge];
    }
  }

  std::vector<std::pair<std::size_t, std::size_t>> ends_;  // of each edge
  std::vector<std::vector<std::size_t>> at_;               // the edges at each node
  std::vector<std::uint64_t> labels_;
  std::vector<std::uint64_t> label_of_node_;  // of the edges that lead out of its subtree
  std::vector<bool> is_seen_;
  std::mt19937_64 random_{kSeed};
};

std::size_t begin_of(std::size_t block) { return block == kOutside ? 0 : 2 * block + 1; }
std::size_t end_of(std::size_t block) { return block == kOutside ? 0 : 2 * block + 2; }

// Returns the blocks from which no way leads out.
std::vector<std::size_t> without_exit(const Graph& graph) {
  std::vector<std::vector<std::size_t>> before(graph.blocks.size());
  std::vector<std::size_t> open;
  for (const Edge& edge : graph.edges) {
    if (edge.from == kOutside) continue;
    if (edge.to == kOutside) {
      open.push_back(edge.from);
    } else {
      before[edge.to].push_back(edge.from);
    }
  }
  std::vector<bool> leaves(graph.blocks.size());
  while (!open.empty()) {
    const std::size_t block = open.back();
    open.pop_back();
    if (leaves[block]) continue;
    leaves[block] = true;
    open.insert(open.end(), before[block].begin(), before[block].end());
  }
  std::vector<std::size_t> blocks;
  for (std::size_t block = 0; block < leaves.size(); ++block) {
    if (!leaves[block]) blocks.push_back(block);
  }
  return blocks;
}

}  // namespace

Classes frequency_classes(const Graph& graph) {
  Classes classes;
  classes.of_block.resize(graph.blocks.size());
  classes.of_edge.resize(graph.edges.size());
  if (graph.misses_edges()) {
    std::iota(classes.of_block.begin(), classes.of_block.end(), std::size_t{0});
    std::iota(classes.of_edge.begin(), classes.of_edge.end(), graph.blocks.size());
    classes.count = graph.blocks.size() + graph.edges.size();
    return classes;
  }
  Labels undirected(2 * graph.blocks.size() + 1);
  for (std::size_t block = 0; block < graph.blocks.size(); ++block) {
    undirected.add(begin_of(block), end_of(block));
  }
  for (const Edge& edge : graph.edges) undirected.add(end_of(edge.from), begin_of(edge.to));
  for (const std::size_t block : without_exit(graph)) undirected.add(end_of(block), 0);

  const auto labels = undirected.labels();
  std::map<std::uint64_t, std::size_t> numbers;
  const auto number_of = [&](std::uint64_t label) {
    // No cycle has an edge with label 0: it is never executed, or only once.
    if (label == 0) return classes.count++;
    const auto [entry, is_new] = numbers.try_emplace(label, classes.count);
    if (is_new) ++classes.count;
    return entry->second;
  };
  const std::size_t blocks = graph.blocks.size();
  for (std::size_t i = 0; i < blocks; ++i) classes.of_block[i] = number_of(labels[i]);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    classes.of_edge[i] = number_of(labels[blocks + i]);
  }
  return classes;
}

}  // namespace causalctl::disasm

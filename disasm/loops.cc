#include "disasm/loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace causalctl::disasm {
namespace {

constexpr std::size_t kMostBlocks = 20'000;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Where each block leads, within the function.
struct Neighbours {
  explicit Neighbours(const Graph& graph)
      : after(graph.blocks.size()), before(graph.blocks.size()) {
    for (const Edge& edge : graph.edges) {
      if (edge.from == kOutside || edge.to == kOutside) continue;
      after[edge.from].push_back(edge.to);
      before[edge.to].push_back(edge.from);
    }
  }
  std::vector<std::vector<std::size_t>> after, before;
};

// Immediate dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm").
class Dominators {
 public:
  explicit Dominators(const Neighbours& graph)
      : number_(graph.after.size(), kNone), above_(graph.after.size(), kNone) {
    const auto order = reverse_postorder(graph);
    for (std::size_t i = 0; i < order.size(); ++i) number_[order[i]] = i;
    above_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t block : order) {
        if (block == 0) continue;
        std::size_t common = kNone;
        for (const std::size_t each : graph.before[block]) {
          if (above_[each] == kNone) continue;
          common = common == kNone ? each : meet(each, common);
        }
        changed = changed || above_[block] != common;
        above_[block] = common;
      }
    }
  }

  bool dominates(std::size_t head, std::size_t block) const {
    if (number_[head] == kNone || number_[block] == kNone) return false;
    while (number_[block] > number_[head]) block = above_[block];
    return block == head;
  }

 private:
  static std::vector<std::size_t> reverse_postorder(const Neighbours& graph) {
    std::vector<std::size_t> order;
    std::vector<bool> seen(graph.after.size());
    std::vector<std::pair<std::size_t, std::size_t>> open = {
        {0, 0}};  // a block, its next successor
    seen[0] = true;
    while (!open.empty()) {
      auto& [block, next] = open.back();
      if (next == graph.after[block].size()) {
        order.push_back(block);
        open.pop_back();
        continue;
      }
      const std::size_t to = graph.after[block][next++];
      if (seen[to]) continue;
      seen[to] = true;
      open.emplace_back(to, 0);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  std::size_t meet(std::size_t a, std::size_t b) const {
    while (a != b) {
      while (number_[a] > number_[b]) a = above_[a];
      while (number_[b] > number_[a]) b = above_[b];
    }
    return a;
  }

  std::vector<std::size_t> number_, above_;
};

}  // namespace

std::vector<Loop> loops_of(const Graph& graph) {
  std::vector<Loop> loops;
  if (graph.blocks.empty() || graph.blocks.size() > kMostBlocks) return loops;
  const Neighbours neighbours(graph);
  const Dominators dominators(neighbours);
  std::map<std::size_t, std::vector<std::size_t>> jumps_back;  // by head
  for (std::size_t block = 0; block < graph.blocks.size(); ++block) {
    for (const std::size_t to : neighbours.after[block]) {
      if (dominators.dominates(to, block)) jumps_back[to].push_back(block);
    }
  }
  for (auto& [head, open] : jumps_back) {
    std::set<std::size_t> body = {head};
    while (!open.empty()) {
      const std::size_t block = open.back();
      open.pop_back();
      if (!body.insert(block).second) continue;
      open.insert(open.end(), neighbours.before[block].begin(), neighbours.before[block].end());
    }
    Loop loop{head, {body.begin(), body.end()}, {}};
    for (const std::size_t each : neighbours.before[head]) {
      if (!body.contains(each)) loop.entered_from.push_back(each);
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

std::vector<bool> reached_from(const Graph& graph, std::span<const std::size_t> from,
                               const std::vector<bool>& stops) {
  const Neighbours neighbours(graph);
  std::vector<bool> reached(graph.code.size());
  std::vector<std::size_t> open(from.begin(), from.end());  // instructions
  while (!open.empty()) {
    std::size_t at = open.back();
    open.pop_back();
    const auto block = graph.block_at(graph.code[at].address);
    if (!block) continue;
    const std::size_t end = graph.blocks[*block].first + graph.blocks[*block].count;
    while (at < end && !reached[at]) {
      reached[at] = true;
      if (!stops.empty() && stops[at]) break;
      ++at;
      if (at < end) continue;
      for (const std::size_t to : neighbours.after[*block]) {
        open.push_back(graph.blocks[to].first);
      }
    }
  }
  return reached;
}

}  // namespace causalctl::disasm

#include "disasm/graph.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "disasm/decoder.h"

namespace causalctl::disasm {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(std::vector<Instruction> code, const Constants& constants) : constants_(constants) {
    graph_.code = std::move(code);
  }

  Graph build(std::span<const Address> entered) {
    if (graph_.code.empty()) return std::move(graph_);
    read_computed_jumps();
    find_leaders(entered);
    make_blocks();
    for (std::size_t block = 0; block < graph_.blocks.size(); ++block) add_edges_of(block);
    enter(0);
    for (const Address address : entered) {
      if (const auto block = graph_.block_at(address)) enter(*block);
    }
    sort_edges();
    enter_what_nothing_leads_to();
    drop_padding();
    sort_edges();
    return std::move(graph_);
  }

 private:
  void read_computed_jumps() {
    computed_ = JumpTables(graph_.code, constants_).read_all();
    for (const auto& [index, jump] : computed_) {
      if (jump.kind != ComputedJump::Kind::unknown) continue;
      graph_.unknown_jumps.push_back(graph_.code[index].address);
    }
    for (std::size_t i = 1; i < graph_.code.size(); ++i) {
      graph_.has_gaps |= graph_.code[i - 1].next() != graph_.code[i].address;
    }
  }

  void lead_to(Address address) {
    if (const auto index = index_at(graph_.code, address)) leaders_.insert(*index);
  }

  void find_leaders(std::span<const Address> entered) {
    leaders_.insert(0);
    for (const Address address : entered) lead_to(address);
    for (std::size_t i = 0; i < graph_.code.size(); ++i) {
      const Instruction& each = graph_.code[i];
      const bool ends_block = jumps(each) || each.flow == Flow::end;
      if (ends_block && i + 1 < graph_.code.size()) leaders_.insert(i + 1);
      if (jumps(each) && each.target) lead_to(*each.target);
    }
    for (const auto& [jump, targets] : computed_) {
      for (const Address target : targets.targets) lead_to(target);
    }
  }

  void make_blocks() {
    for (auto leader = leaders_.begin(); leader != leaders_.end(); ++leader) {
      const auto next = std::next(leader);
      const std::size_t end = next == leaders_.end() ? graph_.code.size() : *next;
      graph_.blocks.push_back({*leader, end - *leader});
    }
  }

  std::size_t block_or_outside(Address address) const {
    const auto index = index_at(graph_.code, address);
    return index ? *graph_.block_at(address) : kOutside;
  }

  void add_edges_of(std::size_t block) {
    const Block& own = graph_.blocks[block];
    const std::size_t last = own.first + own.count - 1;
    const Instruction& instruction = graph_.code[last];
    if (continues(instruction)) {
      const bool is_last = block + 1 == graph_.blocks.size();
      graph_.edges.push_back({block, is_last ? kOutside : block + 1});
    }
    if (instruction.flow == Flow::end) graph_.edges.push_back({block, kOutside});
    if (!jumps(instruction)) return;
    if (instruction.target) {
      graph_.edges.push_back({block, block_or_outside(*instruction.target)});
      return;
    }
    const ComputedJump& jump = computed_.at(last);
    if (jump.kind != ComputedJump::Kind::table) graph_.edges.push_back({block, kOutside});
    for (const Address target : jump.targets) {
      graph_.edges.push_back({block, block_or_outside(target)});
    }
  }

  void enter(std::size_t block) { graph_.edges.push_back({kOutside, block}); }

  void sort_edges() {
    std::ranges::sort(graph_.edges);
    graph_.edges.erase(std::unique(graph_.edges.begin(), graph_.edges.end()), graph_.edges.end());
  }

  bool is_padding_only(std::size_t block) const {
    return std::ranges::all_of(graph_.code_of(graph_.blocks[block]),
                               [](const Instruction& each) { return is_padding(each); });
  }

  // In the order of addresses, because what such code leads to is not entered from outside.
  void enter_what_nothing_leads_to() {
    std::vector<bool> is_led_to(graph_.blocks.size());
    const auto lead_from = [&](std::size_t from) {
      auto edge = std::ranges::lower_bound(graph_.edges, from, {}, &Edge::from);
      for (; edge != graph_.edges.end() && edge->from == from; ++edge) {
        if (edge->to != kOutside) is_led_to[edge->to] = true;
      }
    };
    lead_from(kOutside);
    for (std::size_t block = 0; block < graph_.blocks.size(); ++block) {
      if (!is_padding_only(block) || is_led_to[block]) lead_from(block);
    }
    std::vector<std::size_t> from;  // what may lead there
    for (const Address jump : graph_.unknown_jumps) from.push_back(*graph_.block_at(jump));
    if (from.empty()) from.push_back(kOutside);
    for (std::size_t block = 0; block < graph_.blocks.size(); ++block) {
      if (is_led_to[block]) continue;
      if (is_padding_only(block)) {
        dropped_.insert(block);
        continue;
      }
      for (const std::size_t each : from) graph_.edges.push_back({each, block});
    }
  }

  void drop_padding() {
    std::vector<std::size_t> new_number(graph_.blocks.size(), kOutside);
    std::vector<Block> kept;
    for (std::size_t block = 0; block < graph_.blocks.size(); ++block) {
      if (dropped_.contains(block)) continue;
      new_number[block] = kept.size();
      kept.push_back(graph_.blocks[block]);
    }
    std::erase_if(graph_.edges, [&](const Edge& edge) { return dropped_.contains(edge.from); });
    for (Edge& edge : graph_.edges) {
      if (edge.from != kOutside) edge.from = new_number[edge.from];
      if (edge.to != kOutside) edge.to = new_number[edge.to];
    }
    graph_.blocks = std::move(kept);
  }

  Graph graph_;
  const Constants& constants_;
  std::map<std::size_t, ComputedJump> computed_;  // by the index of the jump
  std::set<std::size_t> leaders_;                 // indices of instructions
  std::set<std::size_t> dropped_;                 // blocks
};

}  // namespace

std::optional<std::size_t> Graph::block_at(Address address) const {
  const auto index = index_at(code, address);
  if (!index) return std::nullopt;
  const auto after = std::ranges::upper_bound(blocks, *index, {}, &Block::first);
  if (after == blocks.begin()) return std::nullopt;
  const auto block = std::prev(after);
  if (*index >= block->first + block->count) return std::nullopt;
  return static_cast<std::size_t>(block - blocks.begin());
}

std::vector<std::vector<std::size_t>> edges_into(const Graph& graph) {
  std::vector<std::vector<std::size_t>> into(graph.blocks.size());
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (graph.edges[i].to != kOutside) into[graph.edges[i].to].push_back(i);
  }
  return into;
}

Graph graph_of(std::vector<Instruction> code, std::span<const Address> entered,
               const Constants& constants) {
  return GraphBuilder(std::move(code), constants).build(entered);
}

}  // namespace causalctl::disasm

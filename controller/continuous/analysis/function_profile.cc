#include "controller/continuous/analysis/function_profile.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "controller/continuous/analysis/executions.h"
#include "disasm/work.h"

namespace causalctl::continuous {
namespace {

std::size_t flow_node(std::size_t block) { return block == disasm::kOutside ? 0 : block + 1; }

constexpr double kLessThanOne = 0.5;  // samples of a block that has none

// How often edges are passed, in some unit, if a block is executed the more often the more of its
// instructions' time it has: good enough to tell which way mostly leads to a block.
std::vector<double> guessed_passes(const FunctionProfile& profile) {
  const FlowGraph flow = flow_graph_of(profile.graph);
  std::vector<double> guesses(flow.nodes);
  for (std::size_t i = 0; i < profile.graph.blocks.size(); ++i) {
    const disasm::Block& block = profile.graph.blocks[i];
    double samples = 0;
    for (std::size_t at = block.first; at < block.first + block.count; ++at) {
      samples += static_cast<double>(profile.instructions[at].found.samples);
    }
    guesses[i + 1] = std::max(samples, kLessThanOne) / static_cast<double>(block.count);
  }
  std::vector<double> passes;
  for (const Frequency& edge : estimate_frequencies(flow, {}, guesses).edges) {
    passes.push_back(edge.value);
  }
  return passes;
}

void count(FunctionProfile& profile, const ExactCounts& exact) {
  const disasm::Graph& graph = profile.graph;
  std::vector<double> in(graph.blocks.size()), out(graph.blocks.size());  // by edges within it
  for (const disasm::Edge& edge : graph.edges) {
    const auto passes = static_cast<double>(passes_of(exact, graph, edge));
    profile.passes.push_back(passes);
    if (edge.to != disasm::kOutside) in[edge.to] += passes;
    if (edge.from != disasm::kOutside) out[edge.from] += passes;
  }
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    const auto executed = executions_of(exact, graph.code_of(graph.blocks[i]).front());
    profile.blocks[i].executions = static_cast<double>(executed);
  }
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const disasm::Edge& edge = graph.edges[i];
    if (edge.from == disasm::kOutside && edge.to != disasm::kOutside) {
      profile.passes[i] = std::max(0.0, profile.blocks[edge.to].executions - in[edge.to]);
      profile.calls += profile.passes[i];
    }
    if (edge.to == disasm::kOutside && edge.from != disasm::kOutside) {
      profile.passes[i] = std::max(0.0, profile.blocks[edge.from].executions - out[edge.from]);
    }
  }
  profile.is_counted = profile.calls > 0;
}

// Charges time that stands at the head of a block to the ends of those that lead to it, by edges
// with these indices.
void charge_head(FunctionProfile& profile, std::size_t block,
                 std::span<const std::size_t> edges_into_it, double time_ns) {
  const disasm::Graph& graph = profile.graph;
  InstructionProfile& own = profile.instructions[graph.blocks[block].first];
  double all = 0;
  for (const std::size_t i : edges_into_it) all += profile.passes[i];
  if (all <= 0) {
    own.time_ns += time_ns;
    return;
  }
  for (const std::size_t i : edges_into_it) {
    const disasm::Edge& edge = graph.edges[i];
    const double part = time_ns * profile.passes[i] / all;
    if (edge.from == disasm::kOutside) {
      own.time_ns += part;
    } else {
      const disasm::Block& from = graph.blocks[edge.from];
      profile.instructions[from.first + from.count - 1].time_ns += part;
    }
  }
}

void charge(FunctionProfile& profile) {
  const disasm::Graph& graph = profile.graph;
  const auto into = disasm::edges_into(graph);
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    const disasm::Block& block = graph.blocks[i];
    for (std::size_t at = block.first; at < block.first + block.count; ++at) {
      const auto time_ns = static_cast<double>(profile.instructions[at].found.time_ns);
      if (time_ns == 0) continue;
      if (disasm::work_of(graph.code[at]) == disasm::Work::repeated) {
        profile.instructions[at].time_ns += time_ns;
      } else if (at > block.first) {
        profile.instructions[at - 1].time_ns += time_ns;
      } else {
        charge_head(profile, i, into[i], time_ns);
      }
    }
  }
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    const disasm::Block& block = graph.blocks[i];
    for (std::size_t at = block.first; at < block.first + block.count; ++at) {
      profile.blocks[i].time_ns += profile.instructions[at].time_ns;
    }
  }
}

void find(FunctionProfile& profile, const Counts& places) {
  const auto& code = profile.graph.code;
  if (code.empty()) return;
  const auto end = places.lower_bound(code.back().next());
  for (auto place = places.lower_bound(code.front().address); place != end; ++place) {
    profile.found += place->second;
    const auto block = profile.graph.block_at(place->first);
    const auto after = std::upper_bound(
        code.begin(), code.end(), place->first,
        [](Address address, const disasm::Instruction& each) { return address < each.address; });
    profile.instructions[static_cast<std::size_t>(after - code.begin()) - 1].found += place->second;
    if (block && profile.is_counted && profile.blocks[*block].executions == 0) {
      profile.never_executed_ns += place->second.time_ns;
    }
  }
}

}  // namespace

FlowGraph flow_graph_of(const disasm::Graph& graph) {
  FlowGraph flow{graph.blocks.size() + 1, {}};
  for (const disasm::Edge& edge : graph.edges) {
    flow.edges.push_back({flow_node(edge.from), flow_node(edge.to)});
  }
  return flow;
}

FunctionProfile profile_of(disasm::Graph graph, const Counts& places, const ExactCounts* exact) {
  FunctionProfile profile;
  profile.graph = std::move(graph);
  profile.instructions.resize(profile.graph.code.size());
  profile.blocks.resize(profile.graph.blocks.size());
  if (exact != nullptr) count(profile, *exact);
  find(profile, places);
  if (!profile.is_counted) profile.passes = guessed_passes(profile);
  charge(profile);
  return profile;
}

}  // namespace causalctl::continuous

#include "controller/callpath/analysis/tail_counts.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace causalctl::callpath {
namespace {

// Returns for each node the samples of it and all nodes below it.
std::vector<std::uint64_t> samples_below(const Recording& run, std::size_t number,
                                         const ChosenEpochs& epochs) {
  std::vector<std::uint64_t> samples(run.tree.size());
  for (const auto& [key, slice] : run.slices) {
    if (key.metric != Metric::samples || !epochs.has(number, key.epoch)) continue;
    for (const auto& [node, value] : slice) samples[node] += value;
  }
  for (std::size_t node = samples.size(); node-- > 1;) {
    samples[run.tree.node(static_cast<NodeId>(node)).parent] += samples[node];
  }
  return samples;
}

}  // namespace

report::callpath::TailCalls count_tails(std::span<const Recording> runs,
                                        const ChosenEpochs& epochs) {
  report::callpath::TailCalls counts;
  for (std::size_t number = 0; number < runs.size(); ++number) {
    const Recording& run = runs[number];
    std::unordered_map<std::uint64_t, TailKind> kinds;
    for (const Tail& tail : run.tails) {
      kinds.emplace(pair_of(tail.call, tail.callee), tail.kind);
    }
    const std::vector<std::uint64_t> samples = samples_below(run, number, epochs);
    for (std::size_t i = 1; i < samples.size(); ++i) {
      const CallTree::Node& node = run.tree.node(static_cast<NodeId>(i));
      if (node.parent == kRoot) continue;
      const LocationId call = run.tree.node(node.parent).location;
      counts.calls += samples[i];
      const auto kind = kinds.find(pair_of(call, node.location));
      if (kind == kinds.end()) continue;
      if (kind->second == TailKind::found) counts.found += samples[i];
      if (kind->second == TailKind::ambiguous) counts.ambiguous += samples[i];
      if (kind->second == TailKind::unexplained) counts.unexplained += samples[i];
    }
  }
  return counts;
}

}  // namespace causalctl::callpath

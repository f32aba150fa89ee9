// What estimate_frequencies (flow.h) solves: the graph as a network of arcs, with the counts and
// guesses of each. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "controller/continuous/analysis/circulation.h"
#include "controller/continuous/analysis/flow.h"

namespace causalctl::continuous {

struct ArcCount {
  double value = 0;
  double deviation = 0;  // 0: exact

  bool is_exact() const { return deviation == 0; }
};

// Arc i is node i of the graph for i < nodes, and then come its edges, and then entries and exits
// that the graph lacks. Vectors are by arc.
struct FlowProblem {
  FlowNetwork network;
  std::vector<std::optional<ArcCount>> counts;
  std::vector<bool> is_live;      // its flow can be more than 0
  std::vector<std::size_t> live;  // these arcs
  std::vector<double> guesses;    // > 0 where live
  std::vector<double> weights;    // of guesses
  std::size_t nodes = 0, edges = 0;
};

FlowProblem flow_problem(const FlowGraph& graph, std::span<const KnownCount> known,
                         std::span<const double> guesses);

}  // namespace causalctl::continuous

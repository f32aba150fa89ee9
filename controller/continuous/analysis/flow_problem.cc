#include "controller/continuous/analysis/flow_problem.h"

#include <algorithm>
#include <cmath>

#include "controller/base/error.h"

namespace causalctl::continuous {
namespace {

// A guess that follows from neighbours says less than one from samples.
constexpr double kWeightOfNeighbours = 0.1;
// An entry or exit that the graph lacks is rare beside the node it is at.
constexpr double kShareOfLacking = 0.01;
constexpr double kCountRounding = 1e-13;  // of the largest count

std::size_t vertex_in(std::size_t node) { return 2 * node; }
std::size_t vertex_out(std::size_t node) { return 2 * node + 1; }
std::size_t node_of(std::size_t vertex) { return vertex / 2; }

bool is_guess(double guess) { return std::isfinite(guess) && guess > 0; }

// Two counts of one arc are averaged by their deviations; of two exact ones it is the mean.
ArcCount merged(const ArcCount& a, const ArcCount& b) {
  if (a.is_exact() && b.is_exact()) return {(a.value + b.value) / 2, 0};
  if (a.is_exact() || b.is_exact()) return a.is_exact() ? a : b;
  const double of_a = 1 / (a.deviation * a.deviation), of_b = 1 / (b.deviation * b.deviation);
  return {(of_a * a.value + of_b * b.value) / (of_a + of_b), 1 / std::sqrt(of_a + of_b)};
}

void take_counts(FlowProblem& problem, std::span<const KnownCount> known) {
  for (const KnownCount& count : known) {
    const bool is_node = count.of == KnownCount::Of::node;
    INVARIANT(count.index < (is_node ? problem.nodes : problem.edges));
    if (!std::isfinite(count.count) || count.count < 0 || !std::isfinite(count.deviation)) continue;
    auto& of_arc = problem.counts[is_node ? count.index : problem.nodes + count.index];
    const ArcCount taken{count.count, std::abs(count.deviation)};
    of_arc = of_arc ? merged(*of_arc, taken) : taken;
  }
}

// Adds an entry (forward) or exit (backward) for each node with evidence that has no path from
// (to) outside.
void add_lacking(FlowProblem& problem, const std::vector<bool>& has_evidence, Direction direction) {
  FlowNetwork& network = problem.network;
  const bool is_forward = direction == Direction::forward;
  const std::size_t outside = is_forward ? vertex_out(0) : vertex_in(0);
  std::vector<Arc> added;
  Reach reached(network, std::vector<bool>(network.arcs.size(), true), direction);
  reached.add(outside);
  for (const std::size_t vertex : topological_order(network, outside, direction)) {
    const std::size_t node = node_of(vertex);
    if (node == 0 || reached[vertex] || !has_evidence[node]) continue;
    const std::size_t entered = is_forward ? vertex_in(node) : vertex_out(node);
    added.push_back(is_forward ? Arc{outside, entered} : Arc{entered, outside});
    reached.add(entered);
  }
  network.arcs.insert(network.arcs.end(), added.begin(), added.end());
}

// Returns whether a path leads through the procedure.
bool is_left(const FlowProblem& problem) {
  const std::vector<bool> all(problem.network.arcs.size(), true);
  Reach reached(problem.network, all, Direction::forward);
  reached.add(vertex_out(0));
  return reached[vertex_in(0)];
}

std::vector<bool> evidence(const FlowGraph& graph, const FlowProblem& problem,
                           std::span<const double> guesses) {
  std::vector<bool> has_evidence(problem.nodes);
  for (std::size_t node = 0; node < problem.nodes; ++node) {
    const auto& count = problem.counts[node];
    has_evidence[node] =
        count ? count->value > 0 : node < guesses.size() && is_guess(guesses[node]);
  }
  for (std::size_t edge = 0; edge < problem.edges; ++edge) {
    const auto& count = problem.counts[problem.nodes + edge];
    if (!count || count->value <= 0) continue;
    has_evidence[graph.edges[edge].from] = has_evidence[graph.edges[edge].to] = true;
  }
  return has_evidence;
}

// Returns the arcs on a path from outside to outside along `included` ones.
std::vector<bool> on_a_path(const FlowNetwork& network, const std::vector<bool>& included) {
  Reach from_outside(network, included, Direction::forward);
  Reach to_outside(network, included, Direction::backward);
  from_outside.add(vertex_in(0));
  to_outside.add(vertex_in(0));
  std::vector<bool> result(included);
  for (std::size_t arc = 0; arc < network.arcs.size(); ++arc) {
    const auto [from, to] = network.arcs[arc];
    if (!from_outside[from] || !to_outside[to]) result[arc] = false;
  }
  return result;
}

// Closes arcs of which exact counts tell by conservation that nothing flows there. Returns whether
// there are any that were open.
bool close_idle(const FlowProblem& problem, std::vector<bool>& is_live) {
  const FlowNetwork& network = problem.network;
  std::vector<bool> unknown = is_live;
  std::vector<double> flows(network.arcs.size());
  std::vector<std::size_t> order, counted;
  double most = 0;
  for (std::size_t arc = 0; arc < is_live.size(); ++arc) {
    const auto& count = problem.counts[arc];
    unknown[arc] = is_live[arc] && !(count && count->is_exact());
    if (!is_live[arc]) continue;
    (unknown[arc] ? order : counted).push_back(arc);
    if (!unknown[arc]) most = std::max(most, flows[arc] = count->value);
  }
  if (!are_balanced(network, unknown, flows)) return false;
  order.insert(order.end(), counted.begin(), counted.end());
  balance(network, order, flows);
  const std::vector<bool> is_determined = bridges(network, unknown);
  bool has_closed = false;
  for (std::size_t arc = 0; arc < is_live.size(); ++arc) {
    if (!is_determined[arc] || std::abs(flows[arc]) > kCountRounding * most) continue;
    is_live[arc] = false;
    has_closed = true;
  }
  return has_closed;
}

// Counts of 0 close their arcs, and with them all that no other path leads through. If some of that
// was counted, counts contradict each other, and those of 0 are fitted as others are.
void find_live(FlowProblem& problem) {
  std::vector<bool> open(problem.network.arcs.size(), true);
  const std::vector<bool> all = open;
  for (std::size_t arc = 0; arc < open.size(); ++arc) {
    const auto& count = problem.counts[arc];
    if (count && count->is_exact() && count->value == 0) open[arc] = false;
  }
  do {
    problem.is_live = open = on_a_path(problem.network, open);
  } while (close_idle(problem, open));
  for (std::size_t arc = 0; arc < open.size(); ++arc) {
    const auto& count = problem.counts[arc];
    if (!count || count->value <= 0 || problem.is_live[arc]) continue;
    problem.is_live = on_a_path(problem.network, all);
    return;
  }
}

// A guess for each node: its anchor, or that of its edges, or what its neighbours have if all ways
// are alike, which is found by breadth first from nodes that have one.
class GuessesOfNodes {
 public:
  GuessesOfNodes(const FlowProblem& problem, const std::vector<double>& anchors)
      : arcs_(problem.network.arcs),
        edges_(problem.nodes),
        outgoing_(problem.nodes),
        incoming_(problem.nodes),
        guesses_(anchors.begin(), anchors.begin() + static_cast<std::ptrdiff_t>(problem.nodes)) {
    std::vector<double> came(problem.nodes), went(problem.nodes);  // by edges that have an anchor
    for (std::size_t arc = problem.nodes; arc < problem.nodes + problem.edges; ++arc) {
      if (!problem.is_live[arc]) continue;
      const std::size_t from = node_of(arcs_[arc].from), to = node_of(arcs_[arc].to);
      edges_[from].push_back(arc);
      if (from != to) edges_[to].push_back(arc);
      ++outgoing_[from];
      ++incoming_[to];
      went[from] += anchors[arc];
      came[to] += anchors[arc];
    }
    std::vector<std::size_t> order;  // nodes that have a guess
    for (std::size_t node = 0; node < problem.nodes; ++node) {
      if (guesses_[node] <= 0) guesses_[node] = std::max(came[node], went[node]);
      if (guesses_[node] > 0) order.push_back(node);
    }
    if (order.empty()) guesses_.assign(problem.nodes, 1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::size_t arc : edges_[order[i]]) {
        for (const std::size_t node : {node_of(arcs_[arc].from), node_of(arcs_[arc].to)}) {
          if (guesses_[node] > 0) continue;
          guesses_[node] = from_neighbours(node);
          order.push_back(node);
        }
      }
    }
    // One that is too low costs much, and one that is too high little.
    for (const std::size_t node : order) {
      if (anchors[node] <= 0) guesses_[node] = std::max(guesses_[node], from_neighbours(node));
    }
  }

  double at(std::size_t node) const { return guesses_[node]; }
  double out_of(std::size_t node) const { return guesses_[node] / outgoing_[node]; }  // an edge
  double into(std::size_t node) const { return guesses_[node] / incoming_[node]; }

 private:
  double from_neighbours(std::size_t node) const {
    double before = 0, behind = 0;
    for (const std::size_t arc : edges_[node]) {
      if (node_of(arcs_[arc].to) == node) before += out_of(node_of(arcs_[arc].from));
      if (node_of(arcs_[arc].from) == node) behind += into(node_of(arcs_[arc].to));
    }
    return std::max(before, behind);
  }

  const std::vector<Arc>& arcs_;
  std::vector<std::vector<std::size_t>> edges_;  // by node: live arcs
  std::vector<double> outgoing_, incoming_;      // by node: numbers of edges
  std::vector<double> guesses_;
};

// Returns what counts and the guesses for nodes tell, by arc; 0 for others.
std::vector<double> anchors_of(const FlowProblem& problem, std::span<const double> guesses) {
  std::vector<double> anchors(problem.network.arcs.size());
  for (std::size_t arc = 0; arc < anchors.size(); ++arc) {
    if (const auto& count = problem.counts[arc]) {
      anchors[arc] = std::max(count->value, count->deviation);
    } else if (arc < guesses.size() && is_guess(guesses[arc])) {
      anchors[arc] = guesses[arc];
    }
  }
  return anchors;
}

// Sets the guesses of all live arcs: the anchors and, for others, what follows from their
// neighbours as if all ways were alike.
void set_guesses(FlowProblem& problem, std::vector<double> anchors) {
  const auto& arcs = problem.network.arcs;
  const std::size_t counted = problem.nodes + problem.edges;
  const GuessesOfNodes of_nodes(problem, anchors);
  problem.weights.assign(arcs.size(), kWeightOfNeighbours);
  for (std::size_t node = 0; node < problem.nodes; ++node) {
    if (anchors[node] > 0) problem.weights[node] = 1;
  }
  problem.guesses = std::move(anchors);
  for (const std::size_t arc : problem.live) {
    double& guess = problem.guesses[arc];
    if (guess > 0) continue;
    const std::size_t from = node_of(arcs[arc].from), to = node_of(arcs[arc].to);
    if (arc < problem.nodes) {
      guess = of_nodes.at(arc);
    } else if (arc < counted) {
      guess = std::sqrt(of_nodes.out_of(from) * of_nodes.into(to));
    } else {
      guess = kShareOfLacking * of_nodes.at(from == 0 ? to : from);
    }
    if (!is_guess(guess)) guess = 1;
  }
}

}  // namespace

FlowProblem flow_problem(const FlowGraph& graph, std::span<const KnownCount> known,
                         std::span<const double> guesses) {
  INVARIANT(graph.nodes > 0);
  INVARIANT(guesses.empty() || guesses.size() == graph.nodes);
  FlowProblem problem;
  problem.nodes = graph.nodes;
  problem.edges = graph.edges.size();
  problem.network.vertices = 2 * graph.nodes;
  for (std::size_t node = 0; node < graph.nodes; ++node) {
    problem.network.arcs.push_back({vertex_in(node), vertex_out(node)});
  }
  for (const auto& [from, to] : graph.edges) {
    INVARIANT(from < graph.nodes && to < graph.nodes);
    problem.network.arcs.push_back({vertex_out(from), vertex_in(to)});
  }
  problem.counts.resize(problem.network.arcs.size());
  take_counts(problem, known);
  std::vector<bool> has_evidence = evidence(graph, problem, guesses);
  add_lacking(problem, has_evidence, Direction::forward);
  if (has_evidence[0] && !is_left(problem)) has_evidence.assign(problem.nodes, true);
  add_lacking(problem, has_evidence, Direction::backward);
  problem.counts.resize(problem.network.arcs.size());
  find_live(problem);
  for (std::size_t arc = 0; arc < problem.is_live.size(); ++arc) {
    if (problem.is_live[arc]) problem.live.push_back(arc);
  }
  set_guesses(problem, anchors_of(problem, guesses));
  return problem;
}

}  // namespace causalctl::continuous

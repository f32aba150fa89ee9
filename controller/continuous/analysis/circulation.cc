#include "controller/continuous/analysis/circulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace causalctl::continuous {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr double kRounding = 1e-12;  // of the sum of flows

Incidence leaving(const FlowNetwork& network, const std::vector<bool>& included,
                  Direction direction) {
  return {network, included,
          direction == Direction::forward ? Incidence::Which::out : Incidence::Which::in};
}

std::size_t end_of(const Arc& arc, Direction direction) {
  return direction == Direction::forward ? arc.to : arc.from;
}

std::size_t other_end(const Arc& arc, std::size_t vertex) {
  return arc.from == vertex ? arc.to : arc.from;
}

// Sets of vertices that are joined (union by halving paths).
class Parts {
 public:
  explicit Parts(std::size_t vertices) : parents_(vertices) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  std::size_t part_of(std::size_t vertex) {
    while (parents_[vertex] != vertex) {
      vertex = parents_[vertex] = parents_[parents_[vertex]];
    }
    return vertex;
  }

  // Returns whether they were apart.
  bool join(const Arc& arc) {
    const std::size_t from = part_of(arc.from), to = part_of(arc.to);
    parents_[from] = to;
    return from != to;
  }

 private:
  std::vector<std::size_t> parents_;
};

// A tree by breadth first from vertex 0: the arc by which each vertex is reached.
struct Tree {
  std::vector<std::size_t> arcs;   // by vertex; kNone: the root, or not reached
  std::vector<std::size_t> order;  // vertices, each after that it is reached from
};

Tree tree_from_start(const FlowNetwork& network, const std::vector<bool>& included,
                     Direction direction) {
  const Incidence incidence = leaving(network, included, direction);
  Tree tree{std::vector<std::size_t>(network.vertices, kNone), {0}};
  std::vector<bool> seen(network.vertices);
  seen[0] = true;
  for (std::size_t i = 0; i < tree.order.size(); ++i) {
    for (const std::size_t arc : incidence[tree.order[i]]) {
      const std::size_t next = end_of(network.arcs[arc], direction);
      if (seen[next]) continue;
      seen[next] = true;
      tree.arcs[next] = arc;
      tree.order.push_back(next);
    }
  }
  return tree;
}

}  // namespace

Incidence::Incidence(const FlowNetwork& network, const std::vector<bool>& included, Which which)
    : starts_(network.vertices + 2) {
  const auto each = [&](const auto& add) {
    for (std::size_t arc = 0; arc < network.arcs.size(); ++arc) {
      if (!included[arc]) continue;
      if (which != Which::in) add(network.arcs[arc].from, arc);
      if (which != Which::out) add(network.arcs[arc].to, arc);
    }
  };
  each([&](std::size_t vertex, std::size_t) { ++starts_[vertex + 2]; });
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  arcs_.resize(starts_.back());
  each([&](std::size_t vertex, std::size_t arc) { arcs_[starts_[vertex + 1]++] = arc; });
}

Reach::Reach(const FlowNetwork& network, const std::vector<bool>& included, Direction direction)
    : network_(network),
      direction_(direction),
      leaving_(leaving(network, included, direction)),
      reached_(network.vertices) {}

void Reach::add(std::size_t start) {
  if (reached_[start]) return;
  std::vector<std::size_t> waiting{start};
  reached_[start] = true;
  while (!waiting.empty()) {
    const std::size_t vertex = waiting.back();
    waiting.pop_back();
    for (const std::size_t arc : leaving_[vertex]) {
      const std::size_t next = end_of(network_.arcs[arc], direction_);
      if (reached_[next]) continue;
      reached_[next] = true;
      waiting.push_back(next);
    }
  }
}

std::vector<std::size_t> topological_order(const FlowNetwork& network, std::size_t start,
                                           Direction direction) {
  const Incidence incidence =
      leaving(network, std::vector<bool>(network.arcs.size(), true), direction);
  std::vector<std::size_t> order;  // reversed: a vertex comes after all that it leads to
  std::vector<bool> seen(network.vertices);
  std::vector<std::pair<std::size_t, std::size_t>> path;  // vertex, arcs that were followed
  const auto visit = [&](std::size_t root) {
    if (seen[root]) return;
    seen[root] = true;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [vertex, followed] = path.back();
      if (followed == incidence[vertex].size()) {
        order.push_back(vertex);
        path.pop_back();
        continue;
      }
      const std::size_t next = end_of(network.arcs[incidence[vertex][followed++]], direction);
      if (seen[next]) continue;
      seen[next] = true;
      path.emplace_back(next, 0);
    }
  };
  visit(start);
  for (std::size_t vertex = 0; vertex < network.vertices; ++vertex) visit(vertex);
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<bool> bridges(const FlowNetwork& network, const std::vector<bool>& included) {
  const Incidence incidence(network, included, Incidence::Which::both);
  std::vector<bool> result(network.arcs.size());
  std::vector<std::size_t> number(network.vertices, kNone), low(network.vertices);
  struct Visit {
    std::size_t vertex, by, followed;
  };
  std::vector<Visit> path;
  std::size_t next_number = 0;
  const auto enter = [&](std::size_t vertex, std::size_t by) {
    number[vertex] = low[vertex] = next_number++;
    path.push_back({vertex, by, 0});
  };
  for (std::size_t root = 0; root < network.vertices; ++root) {
    if (number[root] == kNone) enter(root, kNone);
    while (!path.empty()) {
      auto& [vertex, by, followed] = path.back();
      if (followed < incidence[vertex].size()) {
        const std::size_t arc = incidence[vertex][followed++];
        const std::size_t other = other_end(network.arcs[arc], vertex);
        if (arc == by) continue;
        if (number[other] == kNone) {
          enter(other, arc);
        } else {
          low[vertex] = std::min(low[vertex], number[other]);
        }
        continue;
      }
      const Visit done = path.back();
      path.pop_back();
      if (path.empty()) break;
      low[path.back().vertex] = std::min(low[path.back().vertex], low[done.vertex]);
      result[done.by] = low[done.vertex] == number[done.vertex];
    }
  }
  return result;
}

bool are_balanced(const FlowNetwork& network, const std::vector<bool>& included,
                  std::span<const double> flows) {
  Parts parts(network.vertices);
  for (std::size_t arc = 0; arc < network.arcs.size(); ++arc) {
    if (included[arc]) parts.join(network.arcs[arc]);
  }
  std::vector<double> excess(network.vertices), sums(network.vertices);
  for (std::size_t arc = 0; arc < network.arcs.size(); ++arc) {
    if (included[arc]) continue;
    const std::size_t from = parts.part_of(network.arcs[arc].from);
    const std::size_t to = parts.part_of(network.arcs[arc].to);
    if (from == to) continue;
    excess[from] -= flows[arc];
    excess[to] += flows[arc];
    sums[from] += flows[arc];
    sums[to] += flows[arc];
  }
  for (std::size_t part = 0; part < network.vertices; ++part) {
    if (std::abs(excess[part]) > kRounding * sums[part]) return false;
  }
  return true;
}

std::vector<double> covering_circulation(const FlowNetwork& network,
                                         const std::vector<bool>& included,
                                         std::span<const double> least) {
  std::vector<double> flows(network.arcs.size());
  std::vector<double> comes(network.vertices), goes(network.vertices);
  for (std::size_t arc = 0; arc < network.arcs.size(); ++arc) {
    if (!included[arc]) continue;
    flows[arc] = least[arc];
    comes[network.arcs[arc].from] += least[arc];  // from the start to here
    goes[network.arcs[arc].to] += least[arc];     // from here to the start
  }
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const Tree tree = tree_from_start(network, included, direction);
    auto& needs = direction == Direction::forward ? comes : goes;
    for (auto vertex = tree.order.rbegin(); vertex != tree.order.rend(); ++vertex) {
      const std::size_t arc = tree.arcs[*vertex];
      if (arc == kNone) continue;
      flows[arc] += needs[*vertex];
      needs[other_end(network.arcs[arc], *vertex)] += needs[*vertex];
    }
  }
  return flows;
}

void balance(const FlowNetwork& network, std::span<const std::size_t> order,
             std::vector<double>& flows) {
  Parts parts(network.vertices);
  std::vector<bool> in_forest(network.arcs.size());
  std::vector<double> excess(network.vertices);  // of what comes in
  for (const std::size_t arc : order) {
    const auto [from, to] = network.arcs[arc];
    if (parts.join(network.arcs[arc])) {
      in_forest[arc] = true;
    } else {
      excess[from] -= flows[arc];
      excess[to] += flows[arc];
    }
  }
  const Incidence forest(network, in_forest, Incidence::Which::both);
  std::vector<std::size_t> left(network.vertices), leaves;
  for (std::size_t vertex = 0; vertex < network.vertices; ++vertex) {
    left[vertex] = forest[vertex].size();
    if (left[vertex] == 1) leaves.push_back(vertex);
  }
  while (!leaves.empty()) {
    const std::size_t leaf = leaves.back();
    leaves.pop_back();
    for (const std::size_t arc : forest[leaf]) {
      if (!in_forest[arc]) continue;
      in_forest[arc] = false;
      const std::size_t other = other_end(network.arcs[arc], leaf);
      flows[arc] = network.arcs[arc].from == leaf ? excess[leaf] : -excess[leaf];
      excess[other] += excess[leaf];
      if (--left[other] == 1) leaves.push_back(other);
    }
  }
}

}  // namespace causalctl::continuous

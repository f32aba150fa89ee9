// Graphs that a circulation flows in, which comes in at each vertex as it goes out: what can be
// reached, what the rest of the graph determines, and flows that keep the balance to the last
// digit. An arc is known by its index; only those whose `included` is true are looked at.
// Pure. REQUIRES of all functions: vertices of arcs are below `vertices`, vectors have the size of
// what they are by.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/continuous/analysis/network.h"

namespace causalctl::continuous {

struct FlowNetwork {
  std::size_t vertices = 0;
  std::vector<Arc> arcs;
};

enum class Direction { forward, backward };

// The included arcs at each vertex.
class Incidence {
 public:
  enum class Which { out, in, both };

  Incidence(const FlowNetwork& network, const std::vector<bool>& included, Which which);

  std::span<const std::size_t> operator[](std::size_t vertex) const {
    return std::span(arcs_).subspan(starts_[vertex], starts_[vertex + 1] - starts_[vertex]);
  }

 private:
  std::vector<std::size_t> starts_;  // by vertex
  std::vector<std::size_t> arcs_;
};

// The vertices that can be reached from some. The network must outlive it.
class Reach {
 public:
  Reach(const FlowNetwork& network, const std::vector<bool>& included, Direction direction);

  void add(std::size_t start);
  bool operator[](std::size_t vertex) const { return reached_[vertex]; }

 private:
  const FlowNetwork& network_;
  Direction direction_;
  Incidence leaving_;
  std::vector<bool> reached_;
};

// Returns the vertices in an order in which each comes before all that it leads to, but for those
// that lead back to it, and no vertex that can be reached from `start` comes before it.
std::vector<std::size_t> topological_order(const FlowNetwork& network, std::size_t start,
                                           Direction direction);

// Returns for each arc whether it is the only connection of two parts, whatever the direction of
// arcs: conservation then tells its flow from those of arcs that are not included. (Tarjan, "A note
// on finding the bridges of a graph", Information Processing Letters 2 (1974).)
std::vector<bool> bridges(const FlowNetwork& network, const std::vector<bool>& included);

// Returns whether the flows of all arcs that are not included come into each part that the included
// ones connect as they go out of it, but for rounding.
bool are_balanced(const FlowNetwork& network, const std::vector<bool>& included,
                  std::span<const double> flows);

// Returns a circulation that has at least `least` on each included arc. REQUIRES: from vertex 0
// each included arc can be reached, and vertex 0 from it.
std::vector<double> covering_circulation(const FlowNetwork& network,
                                         const std::vector<bool>& included,
                                         std::span<const double> least);

// Changes flows so that they are balanced at each vertex: those of a spanning forest follow from
// the others. `order` has the included arcs; those that come first are taken into the forest.
void balance(const FlowNetwork& network, std::span<const std::size_t> order,
             std::vector<double>& flows);

}  // namespace causalctl::continuous

// How often each block and edge of a procedure runs, from counts of some of them and guesses for
// the others (DCPI §6.1.4, of which this is the "global constraint solver").
//
// A control-flow graph is a circulation: as often as control comes into a block, it leaves it. A
// node is an arc here, from where its edges come in to where they go out, so that a count of a node
// and one of an edge are alike. Among the circulations that fit the counts, the one is taken that
// minimises
//
//   sum of weight (x / guess - log x)
//
// over all nodes and edges. Each term is least where x is the guess, and keeps x above zero.
// Newton's method solves it on the circulations (Boyd & Vandenberghe, "Convex Optimization", 2004,
// §10.2); its step is a current in an electrical network (network.h). Minimum-cost flow (He,
// Mestre, Pupyrev, Wang & Yu, "Profile inference revisited", POPL 2022) has a cost of |x - guess|
// instead, which puts the whole misfit on few edges and pulls branches that run seldom to 0.
//
// Counts have squares of (x - count) / deviation for terms, with a deviation that is tiny for exact
// ones. So exact counts that contradict each other are fitted by least squares in relative terms,
// and those with a deviation as normal variables. Guesses weigh so little beside any count that
// they do not change what counts determine. The terms of counts grow by stages (§11.3 there).
// Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace causalctl::continuous {

// The control-flow graph of a procedure. Node 0 is outside: an edge from it is an entry, and one to
// it an exit. A block from which control leaves for good, by a call that does not return, should
// have an edge to 0. Edges may be parallel and may have one node at both ends.
struct FlowGraph {
  struct Edge {
    std::size_t from = 0, to = 0;  // nodes
  };

  std::size_t nodes = 1;
  std::vector<Edge> edges;
};

// How often a node or edge was executed, as something counted it. Node 0 is executed as often as
// the procedure is entered.
struct KnownCount {
  enum class Of { node, edge };

  Of of = Of::node;
  std::size_t index = 0;
  double count = 0;      // executions; one that is negative or not finite is ignored
  double deviation = 0;  // standard deviation of the count; 0: exact
};

struct Frequency {
  double value = 0;      // executions
  double deviation = 0;  // standard, of the value
  // Counts and conservation determine the value, whatever the guesses are. Where it is false, the
  // deviation is that of a guess: a factor of about 5 before the flow is considered.
  bool is_determined = false;
};

struct Frequencies {
  std::vector<Frequency> nodes, edges;  // as in the graph
  // Each count is within 1 %, one execution or 4 of its deviations of the value. Otherwise the
  // graph lacks edges (exceptions, longjmp), or the run was cut short.
  bool is_consistent = true;
};

// `guesses` has a frequency for each node that is guessed from samples, in executions, or 0 where
// there is none; it may be empty. Without counts the values have the unit of guesses; without both
// only their ratios mean something. A node that has a count or guess, but to which or from which no
// path leads, is taken for an entry or exit that the graph lacks; one without evidence has a
// frequency of 0. REQUIRES: indices within the graph, one node or more.
Frequencies estimate_frequencies(const FlowGraph& graph, std::span<const KnownCount> known,
                                 std::span<const double> guesses);

}  // namespace causalctl::continuous

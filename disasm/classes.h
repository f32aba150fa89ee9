// Frequency-equivalence classes of a control-flow graph (DCPI §6.1.2): blocks and edges that are
// executed equally often, whatever way the program takes. Pure.
//
// Two edges are equivalent if each cycle that has one of them has the other, too, with the outside
// of the function closing every way through it; that is so if removing both parts the graph (the
// cycle equivalence of Johnson, Pearson and Pingali, PLDI 1994, for undirected graphs). A block is
// an edge from its beginning to its end. Classes are told apart by labels: each edge that is not in
// a spanning tree gets a random one, and each edge of the tree the exclusive or of the labels of
// those whose cycles it is in. The labels of two classes agree with a probability of 2^-64.
//
// A loop without an exit is taken to be left from any of its blocks, as the paper extends it.
#pragma once

#include <cstddef>
#include <vector>

#include "disasm/graph.h"

namespace causalctl::disasm {

struct Classes {
  std::vector<std::size_t> of_block = {};  // the number of its class
  std::vector<std::size_t> of_edge = {};   // by the index in Graph::edges
  std::size_t count = 0;
};

// Where edges are missing, each block and each edge is a class of its own.
Classes frequency_classes(const Graph& graph);

}  // namespace causalctl::disasm

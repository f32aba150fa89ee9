// Where time goes within a function, by instruction and by block (DCPI §3.2, Figure 2). Pure.
//
// The clock's interrupt waits until the oldest instruction that is under way has ended, so a sample
// stands at the one behind that. Its time is charged to the instruction before: within a block to
// the one in front, and at the head of a block to those that lead to it, in proportion to how often
// they do. An instruction with rep is interrupted in its midst, and keeps its samples; so does the
// first one of the function, before which there is its caller.
#pragma once

#include <vector>

#include "controller/continuous/analysis/flow.h"
#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/exact_counts.h"
#include "disasm/graph.h"

namespace causalctl::continuous {

struct InstructionProfile {
  Count found = {};    // samples that stand there
  double time_ns = 0;  // that is charged to it
};

struct BlockProfile {
  double time_ns = 0;     // of its instructions
  double executions = 0;  // in the counted run
};

struct FunctionProfile {
  disasm::Graph graph;
  std::vector<InstructionProfile> instructions;  // as in graph.code
  std::vector<BlockProfile> blocks;              // as in graph.blocks
  std::vector<double> passes;  // as in graph.edges: in the counted run, or in some unit by samples
  Count found = {};
  bool is_counted = false;
  double calls = 0;                   // entries from outside, in the counted run
  Nanoseconds never_executed_ns = 0;  // found in blocks that the counted run did not execute
};

// The graph as the flow of control: node 0 is outside, and block i is node i + 1.
FlowGraph flow_graph_of(const disasm::Graph& graph);

// `places`: by link-time address, those of the function among others. `exact`: null if nothing
// counted this build.
FunctionProfile profile_of(disasm::Graph graph, const Counts& places, const ExactCounts* exact);

}  // namespace causalctl::continuous

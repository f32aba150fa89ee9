// Random programs for the tests of flows: a reducible graph with the true frequencies of one run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "controller/continuous/analysis/flow.h"

namespace causalctl::continuous {

struct FlowProgram {
  FlowGraph graph;
  std::vector<double> nodes, edges;  // true frequencies
};

// Makes sequences of blocks, branches, switches and loops with breaks in each other, which are
// taken as often as chance has it. All frequencies are whole numbers.
class ProgramMaker {
 public:
  explicit ProgramMaker(std::uint64_t seed) : random_(seed) {}

  // Returns a program of about so many nodes. REQUIRES: entered a few times, or more.
  FlowProgram make(int nodes, std::int64_t entries) {
    std::size_t at = node();
    edge(0, at, entries);
    std::int64_t flow = entries;
    at = grow(at, flow, nodes, nullptr);
    edge(at, 0, flow);
    program_.nodes.assign(program_.graph.nodes, 0);
    for (std::size_t i = 0; i < program_.edges.size(); ++i) {
      program_.nodes[program_.graph.edges[i].to] += program_.edges[i];
    }
    return program_;
  }

 private:
  struct Loop {
    std::size_t exit;
    std::int64_t most_breaks, breaks = 0;
  };

  std::size_t node() { return program_.graph.nodes++; }

  void edge(std::size_t from, std::size_t to, std::int64_t flow) {
    program_.graph.edges.push_back({from, to});
    program_.edges.push_back(static_cast<double>(flow));
  }

  std::int64_t upto(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }

  // Grows code after the node. Returns the last node; `flow` becomes what comes there.
  std::size_t grow(std::size_t at, std::int64_t& flow, int size, Loop* loop) {
    while (size > 0) {
      const int part = static_cast<int>(1 + upto(size - 1));
      switch (upto(4)) {
        case 0:
          at = branch(at, flow, part, 2, loop);
          break;
        case 1:
          at = branch(at, flow, part, static_cast<int>(3 + upto(3)), loop);
          break;
        case 2:
          if (flow > 0) at = leave(at, flow, loop);
          break;
        case 3:
          at = repeat(at, flow, part);
          break;
        default:
          const std::size_t next = node();
          edge(at, next, flow);
          at = next;
      }
      size -= part;
    }
    return at;
  }

  std::size_t branch(std::size_t at, std::int64_t& flow, int size, int ways, Loop* loop) {
    const std::size_t join = node();
    std::int64_t left = flow, joined = 0;
    for (int way = 0; way < ways; ++way) {
      std::int64_t taken = way + 1 == ways ? left : upto(left);
      left -= taken;
      const std::size_t first = node();
      edge(at, first, taken);
      const std::size_t last = grow(first, taken, size / ways - 2, loop);
      edge(last, join, taken);
      joined += taken;
    }
    flow = joined;
    return join;
  }

  // A break of the loop, or a return.
  std::size_t leave(std::size_t at, std::int64_t& flow, Loop* loop) {
    const std::int64_t most = loop ? std::min(flow, loop->most_breaks - loop->breaks) : flow / 4;
    const std::int64_t leaving = upto(most);
    if (loop) loop->breaks += leaving;
    edge(at, loop ? loop->exit : 0, leaving);
    const std::size_t next = node();
    edge(at, next, flow - leaving);
    flow -= leaving;
    return next;
  }

  std::size_t repeat(std::size_t at, std::int64_t& flow, int size) {
    const std::size_t header = node();
    Loop loop{node(), flow};
    edge(at, header, flow);
    // Sums stay below 2^53, so that they are exact.
    const std::int64_t again = flow < 1'000'000'000       ? flow * (1 + upto(30))
                               : flow < 1'000'000'000'000 ? flow
                                                          : upto(1000);
    std::int64_t inside = flow + again;
    const std::size_t last = grow(header, inside, size - 2, &loop);
    edge(last, header, again);  // breaks leave so much, at least
    edge(last, loop.exit, inside - again);
    flow = inside - again + loop.breaks;
    return loop.exit;
  }

  std::mt19937_64 random_;
  FlowProgram program_;
};

}  // namespace causalctl::continuous

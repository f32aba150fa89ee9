#include "disasm/graph.h"

#include <catch2/catch.hpp>
#include <utility>

#include "tests/unit/disasm/made_code.h"

namespace causalctl::disasm {
namespace {

using Edges = std::vector<std::pair<std::size_t, std::size_t>>;
constexpr std::size_t kOut = kOutside;

Edges edges_of(const Graph& graph) {
  Edges edges;
  for (const Edge& each : graph.edges) edges.emplace_back(each.from, each.to);
  return edges;
}

// The places of each block's first instruction.
std::vector<std::size_t> begins_of(const Graph& graph) {
  std::vector<std::size_t> begins;
  for (const Block& each : graph.blocks) begins.push_back(each.first);
  return begins;
}

}  // namespace

TEST_CASE("blocks end where control leads elsewhere, and begin where it comes from", "[disasm]") {
  // 0 add · 1 jne 4 · 2 call · 3 jmp 5 · 4 add · 5 ret
  const Graph graph = MadeCode().add().branch(4).call().jump(5).add().ret().graph();
  CHECK(begins_of(graph) == std::vector<std::size_t>{0, 2, 4, 5});
  CHECK(edges_of(graph) == Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, kOut}, {kOut, 0}});
  CHECK_FALSE(graph.misses_edges());
  CHECK(graph.block_at(kFirst + 3) == 1);
  CHECK_FALSE(graph.block_at(kFirst + 6));
}

TEST_CASE("jumps out of a function, and into it, lead to and from outside", "[disasm]") {
  // 0 jne 100 · 1 add · 2 jmp 200, and another function jumps to 1
  const Graph graph = MadeCode().branch(100).add().jump(200).graph({kFirst + 1});
  CHECK(edges_of(graph) == Edges{{0, 1}, {0, kOut}, {1, kOut}, {kOut, 0}, {kOut, 1}});
  // Control that goes on at the end leaves, too: the last call does not return.
  CHECK(edges_of(MadeCode().call().graph()) == Edges{{0, kOut}, {kOut, 0}});
}

TEST_CASE("code that nothing leads to is entered from outside, and padding is no code",
          "[disasm]") {
  // 0 ret · 1 nop · 2 add (a handler of exceptions) · 3 jmp 0 · 4 nop
  const Graph graph = MadeCode().ret().nop().add().jump(0).nop().graph();
  // The padding in front of the handler is one block with it.
  CHECK(begins_of(graph) == std::vector<std::size_t>{0, 1});
  CHECK(edges_of(graph) == Edges{{0, kOut}, {1, 0}, {kOut, 0}, {kOut, 1}});
  // 0 jmp 2 · 1 nop · 2 add · 3 jne 2 · 4 ret: what aligns the loop is never executed
  const Graph aligned = MadeCode().jump(2).nop().add().branch(2).ret().graph();
  CHECK(begins_of(aligned) == std::vector<std::size_t>{0, 2, 4});
  CHECK(edges_of(aligned) == Edges{{0, 1}, {1, 1}, {1, 2}, {2, kOut}, {kOut, 0}});
}

TEST_CASE("a computed jump without a table may lead to what nothing else leads to", "[disasm]") {
  // 0 add · 1 jmp ? · 2 add · 3 jmp 0 · 4 ret
  Graph graph = MadeCode().add().computed().add().jump(0).ret().graph();
  CHECK(graph.misses_edges());
  CHECK(graph.unknown_jumps == std::vector<Address>{kFirst + 1});
  CHECK(edges_of(graph) == Edges{{0, 1}, {0, 2}, {0, kOut}, {1, 0}, {2, kOut}, {kOut, 0}});
}

TEST_CASE("a function without code has no blocks", "[disasm]") {
  const Graph graph = MadeCode().graph();
  CHECK(graph.blocks.empty());
  CHECK(graph.edges.empty());
}

}  // namespace causalctl::disasm

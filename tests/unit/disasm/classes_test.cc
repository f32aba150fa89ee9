#include "disasm/classes.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "tests/unit/disasm/made_code.h"

namespace causalctl::disasm {
namespace {

std::size_t edge_index(const Graph& graph, std::size_t from, std::size_t to) {
  const auto found = std::ranges::find(graph.edges, Edge{from, to});
  REQUIRE(found != graph.edges.end());
  return static_cast<std::size_t>(found - graph.edges.begin());
}

// A graph of `blocks` blocks with random edges, each of which lies on a way from and to outside.
Graph random_graph(std::minstd_rand& random, std::size_t blocks) {
  Graph graph;
  graph.code.resize(blocks);
  for (std::size_t i = 0; i < blocks; ++i) graph.blocks.push_back({i, 1});
  std::set<Edge> edges = {{kOutside, 0}, {blocks - 1, kOutside}};
  for (std::size_t i = 0; i + 1 < blocks; ++i) edges.insert({i, i + 1});
  for (std::size_t i = 0; i < blocks / 2; ++i) edges.insert({random() % blocks, random() % blocks});
  graph.edges.assign(edges.begin(), edges.end());
  return graph;
}

// Walks at random from outside to outside, and returns how often each edge and block was passed.
struct Passed {
  std::vector<std::size_t> edges, blocks;
};

Passed walk(const Graph& graph, std::minstd_rand& random, std::size_t times) {
  std::map<std::size_t, std::vector<std::size_t>> after;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) after[graph.edges[i].from].push_back(i);
  Passed passed{std::vector<std::size_t>(graph.edges.size()),
                std::vector<std::size_t>(graph.blocks.size())};
  std::size_t at = kOutside;
  while (times > 0 || at != kOutside) {
    const auto& ways = after[at];
    const std::size_t edge = ways[random() % ways.size()];
    ++passed.edges[edge];
    at = graph.edges[edge].to;
    if (at == kOutside) {
      times -= times > 0 ? 1 : 0;
    } else {
      ++passed.blocks[at];
    }
  }
  return passed;
}

}  // namespace

TEST_CASE("what comes before and behind a choice is executed equally often", "[disasm]") {
  // 0 jne 2 · 1 jmp 3 · 2 add · 3 ret
  const Graph graph = MadeCode().branch(2).jump(3).add().ret().graph();
  const Classes classes = frequency_classes(graph);
  CHECK(classes.of_block[0] == classes.of_block[3]);
  CHECK(classes.of_block[1] != classes.of_block[2]);
  CHECK(classes.of_block[0] != classes.of_block[1]);
  CHECK(classes.of_edge[edge_index(graph, 0, 1)] == classes.of_block[1]);
  CHECK(classes.of_edge[edge_index(graph, 1, 3)] == classes.of_block[1]);
  CHECK(classes.of_edge[edge_index(graph, 0, 2)] == classes.of_block[2]);
  CHECK(classes.of_edge[edge_index(graph, kOutside, 0)] == classes.of_block[0]);
  CHECK(classes.count == 3);
}

TEST_CASE("the body of a loop is a class, and the jump back is another", "[disasm]") {
  // 0 add · 1 add · 2 jne 1 · 3 ret
  const Graph graph = MadeCode().add().add().branch(1).ret().graph();
  const Classes classes = frequency_classes(graph);
  CHECK(classes.of_block[0] == classes.of_block[2]);
  CHECK(classes.of_block[1] != classes.of_block[0]);
  CHECK(classes.of_edge[edge_index(graph, 1, 1)] != classes.of_block[1]);
  CHECK(classes.count == 3);
}

TEST_CASE("a loop without an exit is left from any of its blocks", "[disasm]") {
  // 0 add · 1 jne 3 · 2 jmp 1 · 3 jmp 1
  const Graph graph = MadeCode().add().branch(3).jump(1).jump(1).graph();
  const Classes classes = frequency_classes(graph);
  CHECK(classes.of_block[0] != classes.of_block[1]);
  CHECK(classes.of_block[2] != classes.of_block[3]);
}

TEST_CASE("where edges are missing nothing is known to be equally often executed", "[disasm]") {
  // 0 add · 1 jmp ? · 2 jmp 3 · 3 ret
  const Graph graph = MadeCode().add().computed().jump(3).ret().graph();
  const Classes classes = frequency_classes(graph);
  CHECK(classes.count == graph.blocks.size() + graph.edges.size());
  CHECK(std::set(classes.of_block.begin(), classes.of_block.end()).size() == graph.blocks.size());
}

// The classes are sound, since all ways of the program have equal counts in a class, and they are
// as large as can be, since random ways tell each two of them apart.
TEST_CASE("classes are what all ways through a graph pass equally often", "[disasm]") {
  std::minstd_rand random(11);
  for (int round = 0; round < 200; ++round) {
    const Graph graph = random_graph(random, 2 + random() % 14);
    const Classes classes = frequency_classes(graph);
    std::map<std::size_t, std::vector<std::size_t>> counts;  // by class, of each walk
    for (int walks = 0; walks < 3; ++walks) {
      const Passed passed = walk(graph, random, 400);
      std::map<std::size_t, std::size_t> of_class;
      const auto take = [&](std::size_t number, std::size_t count) {
        const auto [known, is_new] = of_class.try_emplace(number, count);
        REQUIRE(known->second == count);
      };
      for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
        take(classes.of_block[i], passed.blocks[i]);
      }
      for (std::size_t i = 0; i < graph.edges.size(); ++i) {
        take(classes.of_edge[i], passed.edges[i]);
      }
      for (const auto& [number, count] : of_class) counts[number].push_back(count);
    }
    std::set<std::vector<std::size_t>> distinct;
    for (const auto& [number, each] : counts) distinct.insert(each);
    CHECK(distinct.size() == counts.size());
  }
}

}  // namespace causalctl::disasm

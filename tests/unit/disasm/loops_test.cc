#include "disasm/loops.h"

#include <catch2/catch.hpp>

#include "tests/unit/disasm/made_code.h"

namespace causalctl::disasm {
namespace {

using Indices = std::vector<std::size_t>;

std::vector<bool> reached(const Graph& graph, std::size_t from,
                          const std::vector<bool>& stops = {}) {
  return reached_from(graph, Indices{from}, stops);
}

}  // namespace

TEST_CASE("a loop that is entered in its middle has its head there", "[disasm]") {
  // 0 add · 1 jmp 3 · 2 add · 3 add · 4 jne 2 · 5 ret
  const Graph graph = MadeCode().add().jump(3).add().add().branch(2).ret().graph();
  const auto loops = loops_of(graph);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].head == graph.block_at(kFirst + 3));
  CHECK(loops[0].blocks == Indices{1, 2});
  CHECK(loops[0].entered_from == Indices{0});
  CHECK(reached(graph, 0) == std::vector<bool>(6, true));
  CHECK(reached(graph, 5) == std::vector<bool>{false, false, false, false, false, true});
}

TEST_CASE("inner loops, and code behind a computed jump, are in loops", "[disasm]") {
  // 0 add · 1 add · 2 jne 1 · 3 jne 0 · 4 ret
  const auto nested = loops_of(MadeCode().add().add().branch(1).branch(0).ret().graph());
  REQUIRE(nested.size() == 2);
  CHECK(nested[0].blocks == Indices{0, 1, 2});
  CHECK(nested[1].blocks == Indices{1});
  // 0 add · 1 jmp ? · 2 jmp 0 · 3 add · 4 ret
  const auto table = loops_of(MadeCode().add().computed().jump(0).add().ret().graph());
  REQUIRE(table.size() == 1);
  CHECK(table[0].head == 0);
}

TEST_CASE("a jump back to code that is also entered elsewhere closes no loop", "[disasm]") {
  // 0 jne 3 · 1 add · 2 add · 3 add · 4 jne 2 · 5 ret
  CHECK(loops_of(MadeCode().branch(3).add().add().add().branch(2).ret().graph()).empty());
  CHECK(loops_of(MadeCode().graph()).empty());
}

TEST_CASE("what is reached ends behind an instruction that stops", "[disasm]") {
  // 0 jne 3 · 1 call · 2 ret · 3 add · 4 ret
  const Graph graph = MadeCode().branch(3).call().ret().add().ret().graph();
  const std::vector<bool> stops = {false, true, false, false, false};
  CHECK(reached(graph, 0, stops) == std::vector<bool>{true, true, false, true, true});
  // From the middle of a block.
  CHECK(reached(graph, 4) == std::vector<bool>{false, false, false, false, true});
}

}  // namespace causalctl::disasm

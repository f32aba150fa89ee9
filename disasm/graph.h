// The control-flow graph of a function (DCPI §6.1.1): its basic blocks, and the edges between them.
// Pure.
//
// A block is a run of instructions that are executed equally often: none but the last one leads
// elsewhere, and none but the first one is led to. Calls are taken to return, so they are within
// blocks. Everything outside of the function is one place, kOutside: edges from it are entries, and
// edges to it are returns, calls at the end, and jumps to code that lies elsewhere.
//
// Code that nothing in the function leads to is entered from outside, as a handler of exceptions
// is, or by a computed jump whose places are not known. Where there is such a jump, the graph says
// that edges are missing, and counts must not be carried along it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/types.h"
#include "disasm/instruction.h"
#include "disasm/jump_table.h"

namespace causalctl::disasm {

inline constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

struct Block {
  std::size_t first = 0;  // the index of its first instruction
  std::size_t count = 0;  // of instructions, at least one
};

struct Edge {
  std::size_t from = kOutside;  // a block
  std::size_t to = kOutside;
  auto operator<=>(const Edge&) const = default;
};

struct Graph {
  std::vector<Instruction> code = {};       // of the function, in the order of their addresses
  std::vector<Block> blocks = {};           // likewise; code between them is never executed
  std::vector<Edge> edges = {};             // each once, in order
  std::vector<Address> unknown_jumps = {};  // whose targets are not known
  bool has_gaps = false;                    // bytes between instructions are none

  bool misses_edges() const { return !unknown_jumps.empty() || has_gaps; }
  std::span<const Instruction> code_of(const Block& block) const {
    return std::span(code).subspan(block.first, block.count);
  }
  // Returns the block that has the instruction at the address.
  std::optional<std::size_t> block_at(Address address) const;
};

// Returns for each block the indices of the edges that lead to it.
std::vector<std::vector<std::size_t>> edges_into(const Graph& graph);

// `code`: of a function, from its first instruction on. `entered`: addresses in it to which other
// functions jump, besides its beginning.
Graph graph_of(std::vector<Instruction> code, std::span<const Address> entered,
               const Constants& constants);

}  // namespace causalctl::disasm

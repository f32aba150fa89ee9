#include "controller/continuous/code/file_code.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "controller/base/regular_file.h"
#include "controller/base/whole_file.h"
#include "disasm/classes.h"

namespace causalctl::continuous {
namespace {

constexpr const char* kLibc =
    "/lib/x86_64-linux-gnu/libc.so.6";  // has no symbols but exported ones

}  // namespace

TEST_CASE("functions of a stripped library are whole graphs", "[continuous]") {
  const auto file = read_whole(open_regular(kLibc), std::size_t{64} << 20U);
  REQUIRE(file);
  FileCode code{unwind::ElfImage(std::as_bytes(std::span(*file)))};
  REQUIRE(code.functions().size() > 2000);
  std::size_t instructions = 0, unknown = 0, computed = 0;
  for (const auto& function : code.functions()) {
    CHECK(code.function_at(function.low)->low == function.low);
    const disasm::Graph graph = code.graph(function);
    instructions += graph.code.size();
    unknown += graph.unknown_jumps.size();
    std::vector<std::size_t> in(graph.blocks.size()), out(graph.blocks.size());
    for (const disasm::Edge& edge : graph.edges) {
      if (edge.from != disasm::kOutside) ++out[edge.from];
      if (edge.to != disasm::kOutside) ++in[edge.to];
    }
    for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
      const auto& last = graph.code_of(graph.blocks[i]).back();
      // Control comes into each block and leaves it, twice where it branches and nothing is folded.
      if (in[i] == 0 || out[i] == 0) FAIL("a block at " << last.address << " has no way in or out");
      if (jumps(last) && !last.target) ++computed;
    }
    const disasm::Classes classes = disasm::frequency_classes(graph);
    if (classes.count > graph.blocks.size() + graph.edges.size()) FAIL("more classes than code");
  }
  CHECK(instructions > 100'000);
  REQUIRE(computed > 100);
  // The others keep labels in memory.
  CHECK(unknown * 20 < computed);
  CHECK_FALSE(code.function_at(0));
}

}  // namespace causalctl::continuous

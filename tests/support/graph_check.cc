// Holds control-flow graphs against the counts that callgrind has made of a run: what was executed
// must be an instruction of a block, evenly within the block; a jump that was taken must be an
// edge; and control must come into a block as often as it is executed.
//
// graph_check FILE… prints a JSON object in a line for each file with code of which FILE, which
// callgrind wrote with --dump-instr=yes --collect-jumps=yes --skip-plt=no, has counts. All numbers
// are executions, of instructions unless their names say otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/regular_file.h"
#include "controller/base/whole_file.h"
#include "controller/continuous/analysis/executions.h"
#include "controller/continuous/code/file_code.h"
#include "controller/continuous/counts/callgrind_file.h"

namespace causalctl {
namespace {

using continuous::ExactCounts;
using continuous::Jump;

constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

struct Misfit {
  std::uint64_t executions = 0, outside_functions = 0, outside_blocks = 0, uneven = 0;
  std::uint64_t jumps = 0, missing_jumps = 0;
  std::uint64_t blocks = 0, imbalance = 0;
  std::uint64_t in_incomplete_graphs = 0;
};

std::uint64_t difference(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

// One function whose instructions were executed.
class FunctionCheck {
 public:
  FunctionCheck(const disasm::Graph& graph, const ExactCounts& counts, Misfit& misfit)
      : graph_(graph), counts_(counts), misfit_(misfit), in_(graph.blocks.size()) {}

  void check() {
    for (std::size_t i = 0; i < graph_.blocks.size(); ++i) check_block(i);
    for (std::size_t i = 0; i < graph_.blocks.size(); ++i) {
      const bool is_entered =
          std::ranges::binary_search(graph_.edges, disasm::Edge{disasm::kOutside, i});
      const std::uint64_t executed = executions(graph_.code_of(graph_.blocks[i]).front());
      misfit_.blocks += executed;
      if (!is_entered || in_[i] > executed) misfit_.imbalance += difference(in_[i], executed);
    }
  }

 private:
  std::uint64_t executions(const disasm::Instruction& instruction) const {
    return executions_of(counts_, instruction);
  }

  void check_block(std::size_t block) {
    const auto code = graph_.code_of(graph_.blocks[block]);
    const std::uint64_t first = executions(code.front());
    for (const auto& each : code) misfit_.uneven += difference(executions(each), first);
    std::uint64_t left_by_jump = 0;
    for (const auto& each : code) {
      for_each_jump(counts_, each, [&](const Jump& jump, std::uint64_t count) {
        misfit_.jumps += count;
        left_by_jump += count;
        const bool is_edge = follow(block, jump, count, &each == &code.back());
        if (!is_edge) misfit_.missing_jumps += count;
      });
    }
    const std::uint64_t last = executions(code.back());
    const bool goes_on = disasm::continues(code.back()) && block + 1 < graph_.blocks.size();
    if (goes_on && last > left_by_jump) in_[block + 1] += last - left_by_jump;
  }

  // Returns whether the graph has the jump.
  bool follow(std::size_t block, const Jump& jump, std::uint64_t count, bool is_last) {
    const auto target = graph_.block_at(jump.to);
    const bool is_begin =
        target && graph_.code_of(graph_.blocks[*target]).front().address == jump.to;
    const std::size_t to = target ? *target : disasm::kOutside;
    if (target) in_[to] += count;
    return is_last && (!target || is_begin) &&
           std::ranges::binary_search(graph_.edges, disasm::Edge{block, to});
  }

  const disasm::Graph& graph_;
  const ExactCounts& counts_;
  Misfit& misfit_;
  std::vector<std::uint64_t> in_;  // by block
};

Misfit check_object(continuous::FileCode& code, const ExactCounts& counts) {
  Misfit misfit;
  auto at = counts.instructions.begin();
  while (at != counts.instructions.end()) {
    const auto function = code.function_at(at->first);
    if (!function) {
      misfit.executions += at->second;
      misfit.outside_functions += at->second;
      ++at;
      continue;
    }
    const disasm::Graph graph = code.graph(*function);
    for (; at != counts.instructions.end() && at->first < function->high; ++at) {
      misfit.executions += at->second;
      if (!graph.block_at(at->first)) misfit.outside_blocks += at->second;
      if (graph.misses_edges()) misfit.in_incomplete_graphs += at->second;
    }
    FunctionCheck(graph, counts, misfit).check();
  }
  return misfit;
}

void print(const std::string& path, const Misfit& misfit) {
  const nlohmann::json line = {{"object", path},
                               {"executions", misfit.executions},
                               {"outside_functions", misfit.outside_functions},
                               {"outside_blocks", misfit.outside_blocks},
                               {"uneven", misfit.uneven},
                               {"jumps", misfit.jumps},
                               {"missing_jumps", misfit.missing_jumps},
                               {"block_executions", misfit.blocks},
                               {"imbalance", misfit.imbalance},
                               {"in_incomplete_graphs", misfit.in_incomplete_graphs}};
  std::puts(line.dump().c_str());
}

void check_file(const std::string& file) {
  const auto text = read_whole(open_regular(file), kMostBytes);
  if (!text) throw Error(file + ": it cannot be read");
  for (const auto& [path, object] : continuous::read_callgrind(*text, file).objects) {
    const auto bytes = read_whole(open_regular(path), kMostBytes);
    if (!bytes) continue;
    continuous::FileCode code(unwind::ElfImage(std::as_bytes(std::span(*bytes))));
    print(path, check_object(code, object.counts));
  }
}

}  // namespace
}  // namespace causalctl

int main(int argc, char** argv) {
  try {
    for (int i = 1; i < argc; ++i) causalctl::check_file(argv[i]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "graph_check: {}\n", error.what());
    return 1;
  }
}

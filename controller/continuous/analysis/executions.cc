#include "controller/continuous/analysis/executions.h"

namespace causalctl::continuous {

std::uint64_t executions_of(const ExactCounts& counts, const disasm::Instruction& instruction) {
  const auto found = counts.instructions.find(instruction.address);
  if (found == counts.instructions.end()) return 0;
  const auto again = counts.jumps.find({instruction.address, instruction.address});
  const bool repeats = again != counts.jumps.end() && is_repeat(instruction, again->first);
  return repeats ? found->second - std::min(found->second, again->second) : found->second;
}

std::uint64_t passes_of(const ExactCounts& counts, const disasm::Graph& graph,
                        const disasm::Edge& edge) {
  if (edge.from == disasm::kOutside || edge.to == disasm::kOutside) return 0;
  const disasm::Instruction& last = graph.code_of(graph.blocks[edge.from]).back();
  const disasm::Instruction& first = graph.code_of(graph.blocks[edge.to]).front();
  std::uint64_t passes = 0, by_jump = 0;
  for_each_jump(counts, last, [&](const Jump& jump, std::uint64_t count) {
    by_jump += count;
    if (jump.to == first.address) passes += count;
  });
  const bool goes_on = last.next() == first.address && disasm::continues(last);
  const std::uint64_t executed = executions_of(counts, last);
  if (goes_on && executed > by_jump) passes += executed - by_jump;
  return passes;
}

}  // namespace causalctl::continuous

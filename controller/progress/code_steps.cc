#include "controller/progress/code_steps.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "controller/base/number.h"
#include "controller/progress/boundary.h"
#include "disasm/decoder.h"

namespace causalctl::progress {
namespace {

constexpr std::size_t kMostDecodedBytes = 256 << 10;

// Returns whether an instruction whose first operand is in memory only reads it.
bool only_reads(std::string_view name) {
  if (name.starts_with("cmpxchg")) return false;
  for (const std::string_view prefix :
       {"cmp",  "test",     "push",  "nop",    "mul",    "imul",    "div",
        "idiv", "prefetch", "comis", "ucomis", "vcomis", "vucomis", "fld",
        "fild", "fadd",     "fmul",  "fsub",   "fdiv",   "fcom",    "j"}) {
    if (name.starts_with(prefix)) return true;
  }
  return name == "bt" || name.ends_with("call");
}

// Returns the address that an operand "qword ptr [rip + 0x2cf9]" means; 0 if it is another one.
Address slot_of(std::string_view operand, Address next) {
  constexpr std::string_view kRelative = "[rip ";  // and "+ 0x2cf9]"
  constexpr std::size_t kSign = 4;                 // "+ 0x"
  const auto at = operand.find(kRelative);
  if (at == operand.npos || !operand.ends_with(']')) return 0;
  operand = operand.substr(at + kRelative.size());
  operand.remove_suffix(1);
  if (operand.size() <= kSign || operand.substr(1, kSign - 1) != " 0x") return 0;
  const auto offset = parse_number<Address>(operand.substr(kSign), 16);
  if (!offset) return 0;
  return operand.front() == '-' ? next - *offset : next + *offset;
}

CodeStep step_of(const disasm::Instruction& instruction) {
  CodeStep step;
  step.address = instruction.address;
  step.next = instruction.address + instruction.size;
  const std::string_view name = instruction.mnemonic;
  const std::string_view operand = instruction.operands;
  step.mnemonic = instruction.mnemonic;
  step.reads_or_writes = operand.find('[') != operand.npos;
  const std::string_view target = operand.substr(0, operand.find(','));
  const bool in_frame = target.find("[rsp") != target.npos || target.find("[rbp -") != target.npos;
  step.writes = target.find('[') != target.npos && !in_frame && !only_reads(name);
  step.is_call = name.ends_with("call");
  step.continues =
      !name.ends_with("jmp") && name.find("ret") == name.npos && name != "hlt" && name != "ud2";
  const bool branches =
      step.is_call || name.starts_with('j') || name.ends_with("jmp") || name.starts_with("loop");
  if (branches && operand.starts_with("0x")) {
    step.to = parse_number<Address>(operand.substr(2), 16).value_or(0);
  }
  if (branches) step.slot = slot_of(operand, step.next);
  return step;
}

}  // namespace

std::vector<CodeStep> steps_of(Address address, Pid target, unwind::Symbolizer& symbolizer) {
  std::vector<CodeStep> steps;
  const auto range = symbolizer.function_range(address);
  if (!range || range->second - range->first > kMostDecodedBytes) return steps;
  const auto bytes = read_code(target, range->first, range->second - 1);
  disasm::Decoder decoder;
  const auto size = std::min<std::size_t>(bytes.size(), range->second - range->first);
  for (std::size_t at = 0; at < size;) {
    const auto instruction = decoder.decode(std::span(bytes).subspan(at), range->first + at);
    if (!instruction) break;
    at += instruction->size;
    steps.push_back(step_of(*instruction));
  }
  return steps;
}

bool is_within(const std::vector<CodeStep>& steps, Address address) {
  return !steps.empty() && address >= steps.front().address && address < steps.back().next;
}

std::vector<CodeStep>::const_iterator step_at(const std::vector<CodeStep>& steps, Address address) {
  const auto step =
      std::lower_bound(steps.begin(), steps.end(), address,
                       [](const CodeStep& each, Address wanted) { return each.address < wanted; });
  return step != steps.end() && step->address == address ? step : steps.end();
}

bool is_move(const CodeStep& step) {
  const std::string_view name = step.mnemonic;
  return name.find("mov") != name.npos || name == "lea" || name.starts_with("nop") ||
         name == "push" || name == "pop";
}

}  // namespace causalctl::progress

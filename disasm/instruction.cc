#include "disasm/instruction.h"

#include <algorithm>
#include <string_view>

namespace causalctl::disasm {
namespace {

// Returns whether an instruction with this first operand only reads it.
bool only_reads_first(std::string_view name) {
  if (name.starts_with("cmpxchg")) return false;
  for (const std::string_view prefix :
       {"cmp",   "test",  "push",   "nop",   "mul",     "div",     "idiv",    "prefetch",
        "comis", "fild",  "ucomis", "fld",   "vcomis",  "fadd",    "vucomis", "fmul",
        "fsub",  "fdiv",  "fcom",   "ptest", "out",     "vptest",  "vtestp",  "fiadd",
        "fimul", "fisub", "fidiv",  "ficom", "clflush", "ldmxcsr", "vldmxcsr"}) {
    if (name.starts_with(prefix)) return true;
  }
  return name == "bt";
}

bool has_one_operand_that_is_read(const Instruction& instruction) {
  return instruction.operand_count == 1 && operation(instruction) == "imul";
}

bool writes_first(const Instruction& instruction) {
  return instruction.flow != Flow::call && !jumps(instruction) &&
         !only_reads_first(operation(instruction)) && !has_one_operand_that_is_read(instruction);
}

}  // namespace

std::string assembly(const Instruction& instruction) {
  if (instruction.text.empty()) return instruction.mnemonic;
  return instruction.mnemonic + " " + instruction.text;
}

std::string_view operation(const Instruction& instruction) {
  const std::string_view name = instruction.mnemonic;
  return name.substr(name.rfind(' ') + 1);
}

bool continues(const Instruction& instruction) {
  return instruction.flow != Flow::jump && instruction.flow != Flow::end;
}

bool jumps(const Instruction& instruction) {
  return instruction.flow == Flow::jump || instruction.flow == Flow::branch;
}

std::optional<Address> fixed_address(const Instruction& instruction, const Operand& operand) {
  const bool is_fixed = operand.kind == Operand::Kind::memory && operand.base == kRip &&
                        operand.index == kNone && !operand.has_segment;
  if (!is_fixed) return std::nullopt;
  return instruction.next() + static_cast<Address>(operand.value);
}

std::optional<Address> slot(const Instruction& instruction) {
  const bool goes = instruction.flow == Flow::call || jumps(instruction);
  if (!goes || instruction.operand_count == 0) return std::nullopt;
  return fixed_address(instruction, instruction.all_operands[0]);
}

bool has_memory(const Instruction& instruction) {
  return std::ranges::any_of(instruction.operands(), [](const Operand& each) {
    return each.kind == Operand::Kind::memory;
  });
}

bool writes_memory(const Instruction& instruction) {
  return instruction.operand_count > 0 &&
         instruction.all_operands[0].kind == Operand::Kind::memory && writes_first(instruction);
}

bool writes_register(const Instruction& instruction, Register wanted) {
  if ((instruction.implied_writes >> wanted & 1U) != 0) return true;
  const auto is_wanted = [&](std::size_t i) {
    return i < instruction.operand_count &&
           instruction.all_operands[i].kind == Operand::Kind::reg &&
           instruction.all_operands[i].reg == wanted;
  };
  if (is_wanted(0) && writes_first(instruction)) return true;
  const std::string_view name = operation(instruction);
  return is_wanted(1) && (name == "xchg" || name == "xadd" || name == "mulx");
}

bool is_in_frame(const Operand& memory) {
  return memory.base == kRsp || (memory.base == kRbp && memory.value < 0);
}

bool is_move(const Instruction& instruction) {
  const std::string_view name = instruction.mnemonic;
  return name.find("mov") != name.npos || name == "lea" || name.starts_with("nop") ||
         name == "push" || name == "pop";
}

bool is_padding(const Instruction& instruction) {
  const std::string_view name = operation(instruction);
  if (name == "nop" || name == "int3") return true;
  const auto operands = instruction.operands();
  // xchg ax, ax
  return name == "xchg" && operands[0].kind == Operand::Kind::reg && operands[0] == operands[1];
}

}  // namespace causalctl::disasm

#include "disasm/work.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace causalctl::disasm {
namespace {

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_division(std::string_view name) {
  constexpr std::array<std::string_view, 9> kDivisions = {"div",  "idiv",  "sqrt",  "vdiv", "vsqrt",
                                                          "fdiv", "fidiv", "fsqrt", "rsqrt"};
  return starts_with_any(name, kDivisions);
}

bool is_fence(std::string_view name) {
  return name == "mfence" || name == "lfence" || name == "sfence" || name == "cpuid" ||
         name == "serialize" || name == "rdtscp" || name == "pause";
}

bool only_takes_the_address(std::string_view name) {
  return name == "lea" || name.starts_with("nop") || name.starts_with("prefetch") ||
         name.starts_with("clflush") || name == "clwb" || name.starts_with("endbr");
}

// A store that needs nothing of what is there before.
bool only_writes(const Instruction& instruction, std::string_view name) {
  const bool is_store = instruction.all_operands[0].kind == Operand::Kind::memory;
  return is_store &&
         (name.find("mov") != name.npos || name.starts_with("set") || name.starts_with("stos") ||
          name.starts_with("fst") || name.starts_with("vextract") || name.starts_with("pextr") ||
          name.starts_with("vpextr"));
}

// Multiplies, adds and converts numbers of vectors and floating point: what takes more than a cycle
// there begins with one of these.
bool is_arithmetic_of_vectors(std::string_view name) {
  if (name.starts_with('v')) name.remove_prefix(1);
  constexpr std::array<std::string_view, 16> kNames = {
      "adds", "addp", "subs", "subp", "muls",  "mulp", "fma",  "fms",
      "fnm",  "cvt",  "maxs", "maxp", "round", "hadd", "pmul", "pmadd"};
  return starts_with_any(name, kNames) || name.starts_with("cmps") || name.starts_with("mins") ||
         name.starts_with("minp") || name.starts_with("dp") || name.starts_with("psad");
}

}  // namespace

Work work_of(const Instruction& instruction) {
  const std::string_view name = operation(instruction);
  const std::string_view all = instruction.mnemonic;
  if (all.starts_with("rep") && instruction.flow == Flow::next) return Work::repeated;
  if (name == "syscall" || name == "sysenter" || name == "int") return Work::system_call;
  const bool exchanges = name == "xchg" && has_memory(instruction);
  if (all.starts_with("lock") || exchanges) return Work::locked;
  if (is_fence(name)) return Work::fence;
  return is_division(name) ? Work::divide : Work::plain;
}

bool reads_memory(const Instruction& instruction) {
  const std::string_view name = operation(instruction);
  return has_memory(instruction) && !only_takes_the_address(name) &&
         !only_writes(instruction, name);
}

double latency_of(const Instruction& instruction) {
  constexpr double kLoad = 5, kVectorLoad = 3 /* more */, kMultiply = 4, kArithmetic = 5,
                   kOfVectors = 3, kToVectors = 3, kX87 = 7;
  if (work_of(instruction) != Work::plain) return 0;
  const std::string_view name = operation(instruction);
  const auto operands = instruction.operands();
  const bool has_vectors = std::ranges::any_of(operands, [](const Operand& each) {
    return each.kind == Operand::Kind::reg && each.reg == kOther;
  });
  double cycles = 1;
  if (name.starts_with("imul") || name.starts_with("mul")) cycles = kMultiply;
  if (has_vectors) cycles = kOfVectors;
  if (has_vectors && is_arithmetic_of_vectors(name)) cycles = kArithmetic;
  if (has_vectors && name.find("cvt") != name.npos) cycles += kToVectors;
  if (name.starts_with('f')) cycles = kX87;
  if (reads_memory(instruction)) cycles += kLoad + (has_vectors ? kVectorLoad : 0);
  return cycles;
}

}  // namespace causalctl::disasm

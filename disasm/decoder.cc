#include "disasm/decoder.h"

#include <capstone/capstone.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "controller/base/error.h"

namespace causalctl::disasm {
namespace {

// By the number of the register: its names by width.
constexpr std::size_t kWidths = 5;
constexpr std::array<std::array<x86_reg, kWidths>, 16> kGeneral = {{
    {X86_REG_AL, X86_REG_AH, X86_REG_AX, X86_REG_EAX, X86_REG_RAX},
    {X86_REG_CL, X86_REG_CH, X86_REG_CX, X86_REG_ECX, X86_REG_RCX},
    {X86_REG_DL, X86_REG_DH, X86_REG_DX, X86_REG_EDX, X86_REG_RDX},
    {X86_REG_BL, X86_REG_BH, X86_REG_BX, X86_REG_EBX, X86_REG_RBX},
    {X86_REG_SPL, X86_REG_SPL, X86_REG_SP, X86_REG_ESP, X86_REG_RSP},
    {X86_REG_BPL, X86_REG_BPL, X86_REG_BP, X86_REG_EBP, X86_REG_RBP},
    {X86_REG_SIL, X86_REG_SIL, X86_REG_SI, X86_REG_ESI, X86_REG_RSI},
    {X86_REG_DIL, X86_REG_DIL, X86_REG_DI, X86_REG_EDI, X86_REG_RDI},
    {X86_REG_R8B, X86_REG_R8B, X86_REG_R8W, X86_REG_R8D, X86_REG_R8},
    {X86_REG_R9B, X86_REG_R9B, X86_REG_R9W, X86_REG_R9D, X86_REG_R9},
    {X86_REG_R10B, X86_REG_R10B, X86_REG_R10W, X86_REG_R10D, X86_REG_R10},
    {X86_REG_R11B, X86_REG_R11B, X86_REG_R11W, X86_REG_R11D, X86_REG_R11},
    {X86_REG_R12B, X86_REG_R12B, X86_REG_R12W, X86_REG_R12D, X86_REG_R12},
    {X86_REG_R13B, X86_REG_R13B, X86_REG_R13W, X86_REG_R13D, X86_REG_R13},
    {X86_REG_R14B, X86_REG_R14B, X86_REG_R14W, X86_REG_R14D, X86_REG_R14},
    {X86_REG_R15B, X86_REG_R15B, X86_REG_R15W, X86_REG_R15D, X86_REG_R15},
}};
// What a function may change (System V ABI, section 3.2.1).
constexpr std::uint32_t kCallClobbers =
    1U << kRax | 1U << kRcx | 1U << kRdx | 1U << kRsi | 1U << kRdi | 0xfU << 8U;

std::array<Register, X86_REG_ENDING> make_registers() {
  std::array<Register, X86_REG_ENDING> numbers = {};
  numbers.fill(kOther);
  for (std::size_t i = 0; i < kGeneral.size(); ++i) {
    for (const x86_reg name : kGeneral[i]) numbers[name] = static_cast<Register>(i);
  }
  numbers[X86_REG_RIP] = kRip;
  numbers[X86_REG_INVALID] = numbers[X86_REG_RIZ] = numbers[X86_REG_EIZ] = kNone;
  return numbers;
}

Register number_of(unsigned name) {
  static const auto kNumbers = make_registers();
  return name < kNumbers.size() ? kNumbers[name] : kOther;
}

bool is_branch(std::string_view name) {
  return name.starts_with('j') || name.starts_with("loop") || name == "xbegin";
}

Flow flow_of(std::string_view name) {
  if (name.ends_with("jmp")) return Flow::jump;
  if (is_branch(name)) return Flow::branch;
  if (name == "call" || name == "lcall") return Flow::call;
  const bool is_end = name.starts_with("ret") || name.starts_with("iret") || name == "retf" ||
                      name == "hlt" || name.starts_with("ud") || name == "int3" ||
                      name.starts_with("sysret") || name == "sysexit";
  return is_end ? Flow::end : Flow::next;
}

Operand operand_of(const cs_x86_op& found) {
  Operand operand;
  operand.size = found.size;
  switch (found.type) {
    case X86_OP_REG:
      operand.kind = Operand::Kind::reg;
      operand.reg = number_of(found.reg);
      break;
    case X86_OP_MEM:
      operand.kind = Operand::Kind::memory;
      operand.base = number_of(found.mem.base);
      operand.index = number_of(found.mem.index);
      operand.scale = static_cast<std::uint8_t>(found.mem.scale);
      operand.value = found.mem.disp;
      operand.has_segment = found.mem.segment == X86_REG_FS || found.mem.segment == X86_REG_GS;
      break;
    default:
      operand.value = found.imm;
  }
  return operand;
}

// Keeps the memory of the strings that `instruction` has.
void read(const cs_insn& found, Instruction& instruction) {
  instruction.address = found.address;
  instruction.size = static_cast<std::uint8_t>(found.size);
  instruction.mnemonic = found.mnemonic;
  instruction.text = found.op_str;
  instruction.flow = flow_of(operation(instruction));
  const cs_detail& detail = *found.detail;
  instruction.operand_count = static_cast<std::uint8_t>(
      std::min<std::size_t>(detail.x86.op_count, Instruction::kMostOperands));
  instruction.all_operands = {};
  for (std::size_t i = 0; i < instruction.operand_count; ++i) {
    instruction.all_operands[i] = operand_of(detail.x86.operands[i]);
  }
  instruction.implied_writes = instruction.flow == Flow::call ? kCallClobbers : 0;
  for (std::size_t i = 0; i < detail.regs_write_count; ++i) {
    const Register number = number_of(detail.regs_write[i]);
    if (number < kRip) instruction.implied_writes |= 1U << number;
  }
  const bool goes = instruction.flow == Flow::call || jumps(instruction);
  const bool is_direct =
      goes && detail.x86.op_count == 1 && detail.x86.operands[0].type == X86_OP_IMM;
  instruction.target.reset();
  if (is_direct) instruction.target = static_cast<Address>(detail.x86.operands[0].imm);
}

}  // namespace

struct Decoder::Impl {
  ~Impl() {
    if (instruction != nullptr) cs_free(instruction, 1);
    cs_close(&handle);
  }

  // Decodes into `instruction`, which cs_malloc made, so that no instruction needs an allocation.
  bool next(std::span<const std::byte> code, Address address) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t size = code.size();
    return cs_disasm_iter(handle, &bytes, &size, &address, instruction);
  }

  csh handle = 0;
  cs_insn* instruction = nullptr;
};

Decoder::Decoder() : impl_(std::make_unique<Impl>()) {
  const cs_err error = cs_open(CS_ARCH_X86, CS_MODE_64, &impl_->handle);
  if (error != CS_ERR_OK) {
    throw Error(fmt::format("cs_open(x86-64): {}", cs_strerror(error)),
                "install a capstone library built with x86 support");
  }
  cs_option(impl_->handle, CS_OPT_DETAIL, CS_OPT_ON);
  impl_->instruction = cs_malloc(impl_->handle);
  if (impl_->instruction == nullptr) throw Error("cs_malloc: out of memory");
}

Decoder::~Decoder() = default;

std::optional<Instruction> Decoder::decode(std::span<const std::byte> code, Address address) {
  if (!impl_->next(code, address)) return std::nullopt;
  Instruction instruction;
  read(*impl_->instruction, instruction);
  return instruction;
}

void Decoder::for_each(std::span<const std::byte> code, Address address,
                       const std::function<void(const Instruction&)>& visit) {
  Instruction instruction;
  for (std::size_t at = 0; at < code.size();) {
    if (!impl_->next(code.subspan(at), address + at)) {
      ++at;
      continue;
    }
    read(*impl_->instruction, instruction);
    visit(instruction);
    at += instruction.size;
  }
}

std::vector<Instruction> Decoder::decode_all(std::span<const std::byte> code, Address address) {
  std::vector<Instruction> instructions;
  for_each(code, address, [&](const Instruction& each) { instructions.push_back(each); });
  return instructions;
}

bool Decoder::is_boundary(std::span<const std::byte> code, Address start, Address address) {
  Address at = start;
  while (at < address && at - start < code.size()) {
    if (!impl_->next(code.subspan(at - start), at)) return false;
    at += impl_->instruction->size;
  }
  // There must be an instruction at the address, too: data that follows the code is not one.
  return at == address && at - start < code.size() && impl_->next(code.subspan(at - start), at);
}

std::optional<std::size_t> index_at(std::span<const Instruction> code, Address address) {
  const auto found = std::ranges::lower_bound(code, address, {}, &Instruction::address);
  if (found == code.end() || found->address != address) return std::nullopt;
  return static_cast<std::size_t>(found - code.begin());
}

bool is_within(std::span<const Instruction> code, Address address) {
  return !code.empty() && address >= code.front().address && address < code.back().next();
}

}  // namespace causalctl::disasm

// An x86-64 instruction: where it leads, and what it does with registers and memory. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "controller/base/types.h"

namespace causalctl::disasm {

// Where control goes behind an instruction.
enum class Flow : std::uint8_t {
  next,    // to the instruction behind it
  branch,  // there, or to the target
  jump,    // to the target
  call,    // to the target and, once that has returned, behind the call
  end,     // to no place of this code: a return, or an instruction that nothing follows
};

// The sixteen general registers by their number in an encoding (rax, rcx, rdx, rbx, rsp, rbp, rsi,
// rdi, r8 to r15), of any width, and the others that matter here.
using Register = std::uint8_t;
inline constexpr Register kRax = 0, kRcx = 1, kRdx = 2, kRsp = 4, kRbp = 5, kRsi = 6, kRdi = 7;
inline constexpr Register kRip = 16;
inline constexpr Register kOther = 17;  // of vectors, masks, segments, the x87
inline constexpr Register kNone = 18;

struct Operand {
  enum class Kind : std::uint8_t { reg, memory, constant };
  Kind kind = Kind::constant;
  std::uint8_t size = 0;  // in bytes
  Register reg = kNone;
  // Of memory: base + index * scale + displacement.
  Register base = kNone;
  Register index = kNone;
  std::uint8_t scale = 1;
  bool has_segment = false;  // FS or GS: memory of the thread
  std::int64_t value = 0;    // the constant, or the displacement
  bool operator==(const Operand&) const = default;
};

struct Instruction {
  static constexpr std::size_t kMostOperands = 5;

  Address address = 0;
  std::uint8_t size = 0;  // in bytes
  Flow flow = Flow::next;
  std::uint8_t operand_count = 0;
  std::array<Operand, kMostOperands> all_operands = {};
  // The general registers that it writes besides its operands, by their bits.
  std::uint32_t implied_writes = 0;
  std::optional<Address> target = {};  // of a direct call, jump or branch
  std::string mnemonic = {};           // with its prefixes, as "lock add"
  std::string text = {};               // the operands, as capstone writes them

  Address next() const { return address + size; }
  std::span<const Operand> operands() const { return std::span(all_operands).first(operand_count); }
};

std::string assembly(const Instruction& instruction);  // "mov rax, qword ptr [rbx]"
// "add" for "lock add".
std::string_view operation(const Instruction& instruction);
// Control goes on behind the instruction, at once or after a call.
bool continues(const Instruction& instruction);
// A jump or branch, not a call.
bool jumps(const Instruction& instruction);
// The constant place of the pointer through which a call or jump goes, as a slot of the global
// offset table; nullopt if it goes another way.
std::optional<Address> slot(const Instruction& instruction);
// The address that an operand "[rip + 0x2cf9]" means; nullopt for another operand.
std::optional<Address> fixed_address(const Instruction& instruction, const Operand& operand);

bool has_memory(const Instruction& instruction);  // as an operand
// The first operand is memory that is written, as far as mnemonics tell. (capstone 4 takes most
// stores, as movups, for reads.)
bool writes_memory(const Instruction& instruction);
bool writes_register(const Instruction& instruction, Register wanted);
bool is_in_frame(const Operand& memory);  // by rsp, or below rbp
// Only moves data, or does nothing.
bool is_move(const Instruction& instruction);
// Does nothing, or traps, as what compilers put between functions.
bool is_padding(const Instruction& instruction);

}  // namespace causalctl::disasm

#include "controller/progress/uprobe_address.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/number.h"
#include "controller/progress/boundary.h"

namespace causalctl::progress {
namespace {

constexpr std::size_t kLongestFunction = 256 << 10;
constexpr int kMostSteps = 8;  // instructions away from the refused one

// Returns "add" for "lock add".
std::string_view operation(const disasm::Instruction& instruction) {
  const std::string_view mnemonic = instruction.mnemonic;
  return mnemonic.substr(mnemonic.rfind(' ') + 1);
}

bool is_jump(const disasm::Instruction& instruction) {
  const auto name = operation(instruction);
  return name.starts_with('j') || name.starts_with("loop") || name == "xbegin";
}

bool ends_block(const disasm::Instruction& instruction) {
  const auto name = operation(instruction);
  return is_jump(instruction) || name == "call" || name.starts_with("ret") ||
         name.starts_with("iret") || name == "hlt" || name.starts_with("ud") ||
         name.starts_with("int") || name.starts_with("sys");
}

// Returns nullopt for a jump through a register or a table.
std::optional<Address> jump_target(const disasm::Instruction& instruction) {
  const std::string_view text = instruction.operands;
  return text.starts_with("0x") ? parse_number<Address>(text.substr(2), 16) : std::nullopt;
}

struct Code {
  std::vector<disasm::Instruction> instructions;
  std::vector<std::span<const std::byte>> bytes;  // the bytes of each instruction
  std::set<Address> targets;                      // the targets of jumps
  bool unknown_jumps = false;
};

void decode_into(disasm::Decoder& decoder, CodeRange range, Code& code) {
  for (std::size_t at = 0; at < range.bytes.size();) {
    auto instruction = decoder.decode(range.bytes.subspan(at), range.start + at);
    if (!instruction) return;
    if (is_jump(*instruction)) {
      const auto target = jump_target(*instruction);
      if (target) code.targets.insert(*target);
      code.unknown_jumps = code.unknown_jumps || !target;
    }
    code.bytes.push_back(range.bytes.subspan(at, instruction->size));
    at += instruction->size;
    code.instructions.push_back(std::move(*instruction));
  }
}

// Returns whether control always goes from instruction `i` to the next, and reaches the next only
// so.
bool flows_on(const Code& code, std::size_t i) {
  return i + 1 < code.instructions.size() && !ends_block(code.instructions[i]) &&
         !code.targets.contains(code.instructions[i + 1].address);
}

// Returns the bytes of the function that begins at `entry`. It extends as long as the symbolizer
// says that the code after the end of a block belongs to the same function.
std::vector<std::byte> function_bytes(disasm::Decoder& decoder, Pid target, Address entry,
                                      unwind::Symbolizer& symbolizer) {
  auto bytes = read_code(target, entry, entry + kLongestFunction);
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto instruction = decoder.decode(std::span(bytes).subspan(at), entry + at);
    if (!instruction) break;
    at += instruction->size;
    if (!ends_block(*instruction) || operation(*instruction) == "call") continue;
    const auto frames = symbolizer.frames(entry + at);
    if (frames.empty() || frames.back().entry != entry) break;
  }
  bytes.resize(std::min(at, bytes.size()));
  return bytes;
}

}  // namespace

bool refuses_uprobe(std::span<const std::byte> instruction) {
  std::size_t i = 0;
  for (; i < instruction.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(instruction[i]);
    constexpr unsigned refused[] = {0x26, 0x2e, 0x36, 0x3e, 0xf0};  // es, cs, ss, ds, lock
    constexpr unsigned accepted[] = {0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
    if (std::find(std::begin(refused), std::end(refused), byte) != std::end(refused)) return true;
    if (std::find(std::begin(accepted), std::end(accepted), byte) == std::end(accepted)) break;
  }
  if (i == instruction.size()) return true;
  const auto opcode = std::to_integer<unsigned>(instruction[i]);
  // ins, outs; int3, int; int1; hlt; cli, sti; in, out
  return (opcode >= 0x6c && opcode <= 0x6f) || opcode == 0xcc || opcode == 0xcd || opcode == 0xcf ||
         opcode == 0xf1 || opcode == 0xf4 || opcode == 0xfa || opcode == 0xfb ||
         (opcode >= 0xe4 && opcode <= 0xe7) || (opcode >= 0xec && opcode <= 0xef);
}

std::optional<Address> executed_as_often(disasm::Decoder& decoder, Address address,
                                         CodeRange function, std::span<const CodeRange> others) {
  Code code;
  decode_into(decoder, function, code);
  const auto begin = code.instructions.begin();
  const auto found = std::find_if(begin, code.instructions.end(), [&](const auto& instruction) {
    return instruction.address == address;
  });
  if (found == code.instructions.end()) return std::nullopt;
  const auto refused = static_cast<std::size_t>(found - begin);
  // A jump through a register in a function that is only jumped to does not matter: the function
  // ends there, by a tail call, or it chooses among its own places.
  if (code.unknown_jumps) return std::nullopt;
  const std::size_t own = code.instructions.size();
  for (const CodeRange& other : others) decode_into(decoder, other, code);
  code.instructions.resize(own);
  for (std::size_t i = refused; i < refused + kMostSteps && flows_on(code, i); ++i) {
    if (!refuses_uprobe(code.bytes[i + 1])) return code.instructions[i + 1].address;
  }
  for (std::size_t i = refused; i > 0 && refused - i < kMostSteps && flows_on(code, i - 1); --i) {
    if (!refuses_uprobe(code.bytes[i - 1])) return code.instructions[i - 1].address;
  }
  return std::nullopt;
}

std::optional<Address> uprobe_address(Pid target, Address address, unwind::Symbolizer& symbolizer) {
  disasm::Decoder decoder;
  const auto bytes = read_code(target, address, address);
  const auto instruction = decoder.decode(bytes, address);
  if (!instruction || !refuses_uprobe(std::span(bytes).first(instruction->size))) return address;
  const auto frames = symbolizer.frames(address);
  if (frames.empty() || frames.back().entry == 0 || frames.back().entry > address) {
    return std::nullopt;
  }
  const Address entry = frames.back().entry;
  const auto function = function_bytes(decoder, target, entry, symbolizer);
  Code code;
  decode_into(decoder, {entry, function}, code);
  std::vector<std::vector<std::byte>> elsewhere;
  std::vector<CodeRange> others;
  std::set<Address> entries;
  for (const Address jump : code.targets) {
    if (jump >= entry && jump < entry + function.size()) continue;
    const auto there = symbolizer.frames(jump);
    if (there.empty() || there.back().entry == 0) return std::nullopt;
    if (!entries.insert(there.back().entry).second) continue;
    elsewhere.push_back(function_bytes(decoder, target, there.back().entry, symbolizer));
    others.push_back({there.back().entry, elsewhere.back()});
  }
  return executed_as_often(decoder, address, {entry, function}, others);
}

}  // namespace causalctl::progress

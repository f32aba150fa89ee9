#include "controller/progress/uprobe_address.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "controller/progress/boundary.h"
#include "controller/progress/function_code.h"

namespace causalctl::progress {
namespace {

constexpr std::size_t kLongestFunction = 256 << 10;
constexpr std::size_t kMostSteps = 8;  // instructions away from the refused one

// Returns whether the code behind the instruction may run less often, because a call does not
// return, or a system call ends the thread.
bool may_end(const disasm::Instruction& instruction) {
  const auto name = disasm::operation(instruction);
  return instruction.flow == disasm::Flow::call || name.starts_with("int") ||
         name.starts_with("sys");
}

void add_targets(std::span<const disasm::Instruction> code, std::vector<Address>& targets) {
  for (const disasm::Instruction& each : code) {
    if (disasm::jumps(each) && each.target) targets.push_back(*each.target);
  }
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
    if (instruction->flow == disasm::Flow::next || instruction->flow == disasm::Flow::call)
      continue;
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
                                         CodeRange function, std::span<const CodeRange> others,
                                         const disasm::Constants& constants) {
  // A computed jump in a function that is only jumped to does not matter: the function ends there,
  // by a tail call, or it chooses among its own places.
  std::vector<Address> entered;
  for (const CodeRange& other : others) {
    add_targets(decoder.decode_all(other.bytes, other.start), entered);
  }
  const disasm::Graph graph =
      disasm::graph_of(decoder.decode_all(function.bytes, function.start), entered, constants);
  const auto found = graph.block_at(address);
  if (!found || graph.misses_edges()) return std::nullopt;
  const auto accepts = [&](const disasm::Instruction& each) {
    return !refuses_uprobe(function.bytes.subspan(each.address - function.start, each.size));
  };
  const auto block = graph.code_of(graph.blocks[*found]);
  const std::size_t refused = *disasm::index_at(block, address);
  for (std::size_t i = refused; i + 1 < block.size() && i < refused + kMostSteps; ++i) {
    if (may_end(block[i])) break;
    if (accepts(block[i + 1])) return block[i + 1].address;
  }
  for (std::size_t i = refused; i > 0 && refused - i < kMostSteps; --i) {
    if (may_end(block[i - 1])) break;
    if (accepts(block[i - 1])) return block[i - 1].address;
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
  std::vector<Address> targets;
  add_targets(decoder.decode_all(function, entry), targets);
  std::vector<std::vector<std::byte>> elsewhere;
  std::vector<CodeRange> others;
  std::set<Address> entries;
  for (const Address jump : targets) {
    if (jump >= entry && jump < entry + function.size()) continue;
    const auto there = symbolizer.frames(jump);
    if (there.empty() || there.back().entry == 0) return std::nullopt;
    if (!entries.insert(there.back().entry).second) continue;
    elsewhere.push_back(function_bytes(decoder, target, there.back().entry, symbolizer));
    others.push_back({there.back().entry, elsewhere.back()});
  }
  return executed_as_often(decoder, address, {entry, function}, others, constants_of(target));
}

}  // namespace causalctl::progress

#include "controller/progress/file_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/progress/boundary.h"
#include "controller/progress/image.h"
#include "disasm/decoder.h"

namespace causalctl::progress {
namespace {

constexpr std::byte kInt3{0xcc};

// An int3 of the target's own, in a program without a handler for it, would end the program.
bool only_uprobes_have_int3(Pid target) {
  const auto status = procfs::status(target);
  return status && !procfs::has_signal(status->signals_caught, SIGTRAP);
}

// The addresses at which the same byte of the same file is mapped as code, `address` among them.
std::vector<Address> copies_of(Pid target, Address address) {
  const auto maps = procfs::maps(target).value_or(std::vector<procfs::Map>());
  const auto own = std::find_if(maps.begin(), maps.end(), [&](const procfs::Map& map) {
    return address >= map.start && address < map.end;
  });
  std::vector<Address> copies;
  if (own == maps.end()) return copies;
  const std::uint64_t offset = own->offset + (address - own->start);
  for (const procfs::Map& map : maps) {
    const bool same_file = map.inode == own->inode && map.device == own->device;
    if (!same_file || !map.executable || offset < map.offset) continue;
    if (offset - map.offset >= map.end - map.start) continue;
    copies.push_back(map.start + (offset - map.offset));
  }
  return copies;
}

}  // namespace

bool same_code(std::span<const std::byte> file, std::span<const std::byte> memory,
               bool may_be_uprobe) {
  if (file.empty() || file.size() != memory.size()) return false;
  const bool first = file[0] == memory[0] || (may_be_uprobe && memory[0] == kInt3);
  return first && std::equal(file.begin() + 1, file.end(), memory.begin() + 1);
}

std::optional<Address> differs_from_file(Pid target, Address address) {
  const auto place = file_place(target, address);
  if (!place) return address;
  auto bytes = read_some(place->readable, place->offset, kLongestInstruction);
  disasm::Decoder decoder;
  if (const auto instruction = decoder.decode(bytes, address)) bytes.resize(instruction->size);
  const bool may_be_uprobe = only_uprobes_have_int3(target);
  const auto copies = copies_of(target, address);
  if (copies.empty()) return address;
  for (const Address copy : copies) {
    const auto memory = read_memory(target, copy, bytes.size());
    if (!same_code(bytes, memory, may_be_uprobe)) return copy;
  }
  return std::nullopt;
}

}  // namespace causalctl::progress

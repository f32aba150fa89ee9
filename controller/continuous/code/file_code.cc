// Relocations: System V ABI for AMD64, section 4.4 (R_X86_64_RELATIVE), and the generic ABI's
// SHT_RELR: an even word is an address, an odd one has a bit for each of the 63 words behind it.
#include "controller/continuous/code/file_code.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace causalctl::continuous {
namespace {

template <typename Record>
std::vector<Record> records_of(const std::optional<unwind::ImageBytes>& section) {
  std::vector<Record> records;
  if (!section) return records;
  records.resize(section->bytes.size() / sizeof(Record));
  std::memcpy(records.data(), section->bytes.data(), records.size() * sizeof(Record));
  return records;
}

}  // namespace

FileCode::FileCode(const unwind::ElfImage& image)
    : image_(image), code_(image.code_segments()), functions_(unwind::described_functions(image)) {
  read_relocations();
  read_packed_relocations();
}

void FileCode::read_relocations() {
  for (const auto& each : records_of<Elf64_Rela>(image_.section(".rela.dyn"))) {
    if (ELF64_R_TYPE(each.r_info) != R_X86_64_RELATIVE) continue;
    pointers_[each.r_offset] = static_cast<Address>(each.r_addend);
  }
}

void FileCode::read_packed_relocations() {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  constexpr std::size_t kBits = 63;
  const auto data = image_.data_segments();
  const auto take = [&](Address at) {
    for (const auto& segment : data) {
      if (at < segment.address || at - segment.address + kWord > segment.bytes.size()) continue;
      std::memcpy(&pointers_[at], segment.bytes.data() + (at - segment.address), kWord);
    }
  };
  Address next = 0;
  for (const std::uint64_t word : records_of<std::uint64_t>(image_.section(".relr.dyn"))) {
    if ((word & 1U) == 0) {
      take(word);
      next = word + kWord;
      continue;
    }
    for (std::size_t bit = 0; bit < kBits; ++bit) {
      if ((word >> (bit + 1) & 1U) != 0) take(next + bit * kWord);
    }
    next += kBits * kWord;
  }
}

std::span<const std::byte> FileCode::bytes(const Function& function) const {
  for (const auto& segment : code_) {
    if (function.low < segment.address) continue;
    const Address at = function.low - segment.address;
    if (at >= segment.bytes.size()) continue;
    return segment.bytes.subspan(
        at, std::min<std::size_t>(segment.bytes.size() - at, function.high - function.low));
  }
  return {};
}

std::optional<Address> FileCode::pointer(Address address) const {
  const auto relocated = pointers_.find(address);
  if (relocated != pointers_.end()) return relocated->second;
  return image_.read<Address>(address);
}

void FileCode::find_jumps_between() {
  entered_.emplace();
  for (const Function& function : functions()) {
    decoder_.for_each(bytes(function), function.low, [&](const disasm::Instruction& each) {
      if (!jumps(each) || !each.target) return;
      const bool is_own = *each.target >= function.low && *each.target < function.high;
      if (!is_own) entered_->push_back(*each.target);
    });
  }
  std::ranges::sort(*entered_);
  entered_->erase(std::unique(entered_->begin(), entered_->end()), entered_->end());
}

disasm::Graph FileCode::graph(const Function& function) {
  if (!entered_) find_jumps_between();
  const auto first = std::ranges::lower_bound(*entered_, function.low);
  const auto last = std::ranges::lower_bound(*entered_, function.high);
  const disasm::Constants constants{
      [this](Address address) { return image_.read<std::int32_t>(address); },
      [this](Address address) { return pointer(address); },
      [this](Address address) { return function_at(address) != nullptr; }};
  return disasm::graph_of(decoder_.decode_all(bytes(function), function.low), {first, last},
                          constants);
}

}  // namespace causalctl::continuous

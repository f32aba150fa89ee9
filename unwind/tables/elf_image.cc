#include "unwind/tables/elf_image.h"

#include <elf.h>

#include <algorithm>

namespace causalctl::unwind {
namespace {

constexpr std::uint8_t kPcRelative32 = 0x1b;    // DW_EH_PE_pcrel | sdata4
constexpr std::uint8_t kDataRelative32 = 0x3b;  // DW_EH_PE_datarel | sdata4
constexpr std::uint8_t kUnsigned32 = 0x03;      // DW_EH_PE_udata4

template <typename Header>
std::optional<Header> header_at(std::span<const std::byte> file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, file.data() + offset, sizeof header);
  return header;
}

}  // namespace

ElfImage::ElfImage(std::span<const std::byte> file) : file_(file) {
  const auto elf = header_at<Elf64_Ehdr>(file, 0);
  if (!elf || std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return;
  if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(Elf64_Phdr)) return;
  for (unsigned i = 0; i < elf->e_phnum; ++i) {
    if (elf->e_phoff > file.size()) break;
    const auto program = header_at<Elf64_Phdr>(file, elf->e_phoff + i * sizeof(Elf64_Phdr));
    if (!program) break;
    if (program->p_type == PT_GNU_EH_FRAME) unwind_header_ = program->p_vaddr;
    if (program->p_type != PT_LOAD || program->p_offset > file.size()) continue;
    if (segments_.empty()) base_ = program->p_vaddr & ~(kPageBytes - 1);
    const auto size = std::min<std::uint64_t>(program->p_filesz, file.size() - program->p_offset);
    segments_.push_back({program->p_vaddr, file.subspan(program->p_offset, size),
                         (program->p_flags & PF_W) != 0, (program->p_flags & PF_X) != 0});
  }
}

std::optional<ImageBytes> ElfImage::section(std::string_view name) const {
  const auto elf = header_at<Elf64_Ehdr>(file_, 0);
  if (!valid() || !elf || elf->e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  if (elf->e_shoff > file_.size()) return std::nullopt;
  const auto header = [&](std::uint64_t index) {
    return header_at<Elf64_Shdr>(file_, elf->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto bytes = [&](const Elf64_Shdr& section) {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > file_.size()) {
      return std::span<const std::byte>();
    }
    return file_.subspan(section.sh_offset,
                         std::min(section.sh_size, file_.size() - section.sh_offset));
  };
  const auto names_header = header(elf->e_shstrndx);
  if (!names_header) return std::nullopt;
  const auto names = bytes(*names_header);
  for (unsigned i = 0; i < elf->e_shnum; ++i) {
    const auto each = header(i);
    if (!each) break;
    if (each->sh_name > names.size() || names.size() - each->sh_name <= name.size()) continue;
    const auto* text = reinterpret_cast<const char*>(names.data() + each->sh_name);
    if (std::memcmp(text, name.data(), name.size()) != 0 || text[name.size()] != 0) continue;
    return ImageBytes{each->sh_addr, bytes(*each)};
  }
  return std::nullopt;
}

std::vector<ImageBytes> ElfImage::segments(bool executable) const {
  std::vector<ImageBytes> found;
  for (const Segment& segment : segments_) {
    if (segment.executable == executable) found.push_back({segment.address, segment.bytes});
  }
  return found;
}

std::vector<ImageBytes> ElfImage::data_segments() const { return segments(false); }
std::vector<ImageBytes> ElfImage::code_segments() const { return segments(true); }

std::span<const std::byte> ElfImage::constant_bytes(Address address) const {
  for (const Segment& segment : segments_) {
    if (segment.writable || address < segment.address) continue;
    const Address offset = address - segment.address;
    if (offset < segment.bytes.size()) return segment.bytes.subspan(offset);
  }
  return {};
}

std::optional<UnwindTable> ElfImage::unwind_table() const {
  if (unwind_header_ == 0) return std::nullopt;
  const auto version = read<std::uint8_t>(unwind_header_);
  const auto frame_encoding = read<std::uint8_t>(unwind_header_ + 1);
  const auto count_encoding = read<std::uint8_t>(unwind_header_ + 2);
  const auto entry_encoding = read<std::uint8_t>(unwind_header_ + 3);
  // GNU ld, gold, lld and mold write these encodings.
  if (version != 1 || frame_encoding != kPcRelative32 || count_encoding != kUnsigned32 ||
      entry_encoding != kDataRelative32) {
    return std::nullopt;
  }
  const auto count = read<std::uint32_t>(unwind_header_ + 8);
  UnwindTable table{unwind_header_, unwind_header_ + 12, count.value_or(0)};
  if (table.count == 0 || constant_bytes(table.entries).size() / 8 < table.count) {
    return std::nullopt;
  }
  return table;
}

}  // namespace causalctl::unwind

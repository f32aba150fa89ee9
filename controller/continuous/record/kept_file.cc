#include "controller/continuous/record/kept_file.h"

#include <elf.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>

#include "controller/base/error.h"

namespace causalctl::continuous {
namespace {

constexpr int kFastLevel = 1;

bool is_within(std::uint64_t offset, std::uint64_t size, const std::string& file) {
  return offset <= file.size() && size <= file.size() - offset;
}

// Symbols, their names, and the names of sections.
bool is_kept(const Elf64_Shdr& section, std::string_view name) {
  if ((section.sh_flags & SHF_ALLOC) != 0 || section.sh_type == SHT_NOBITS) return true;
  return section.sh_type == SHT_SYMTAB || section.sh_type == SHT_NOTE || name == ".strtab" ||
         name == ".shstrtab" || name == ".gnu_debuglink" || name == ".gnu_debugdata";
}

std::string_view name_of(const Elf64_Shdr& section, const Elf64_Shdr& names,
                         const std::string& file) {
  if (section.sh_name >= names.sh_size) return {};
  const std::string_view text = std::string_view(file).substr(names.sh_offset + section.sh_name,
                                                              names.sh_size - section.sh_name);
  return text.substr(0, text.find('\0'));
}

}  // namespace

std::string without_debug_information(std::string file) {
  Elf64_Ehdr header{};
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == ELFCLASS64 &&
                      header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!is_elf) return {};
  const std::uint64_t size = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  const bool has_sections = header.e_shentsize == sizeof(Elf64_Shdr) &&
                            is_within(header.e_shoff, size, file) &&
                            header.e_shstrndx < header.e_shnum;
  if (!has_sections) return file;  // there is nothing to leave out
  const auto section_at = [&](std::size_t number) {
    Elf64_Shdr section{};
    std::memcpy(&section, file.data() + header.e_shoff + number * sizeof section, sizeof section);
    return section;
  };
  const Elf64_Shdr names = section_at(header.e_shstrndx);
  if (!is_within(names.sh_offset, names.sh_size, file)) return file;
  for (std::size_t i = 1; i < header.e_shnum; ++i) {
    Elf64_Shdr section = section_at(i);
    if (is_kept(section, name_of(section, names, file))) continue;
    if (!is_within(section.sh_offset, section.sh_size, file)) continue;
    std::memset(file.data() + section.sh_offset, 0, section.sh_size);
    section.sh_type = SHT_NOBITS;
    std::memcpy(file.data() + header.e_shoff + i * sizeof section, &section, sizeof section);
  }
  return file;
}

std::string packed_file(std::string_view file) {
  std::string bytes(ZSTD_compressBound(file.size()), '\0');
  const std::size_t size =
      ZSTD_compress(bytes.data(), bytes.size(), file.data(), file.size(), kFastLevel);
  if (ZSTD_isError(size) != 0U) throw Error("a file cannot be compressed");
  bytes.resize(size);
  return bytes;
}

std::string unpacked_file(std::string_view packed, std::size_t most) {
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > most) throw Error("a kept file is damaged");  // also if it is not known
  std::string file(size, '\0');
  const std::size_t got = ZSTD_decompress(file.data(), file.size(), packed.data(), packed.size());
  if (got != size) throw Error("a kept file is damaged");
  return file;
}

}  // namespace causalctl::continuous

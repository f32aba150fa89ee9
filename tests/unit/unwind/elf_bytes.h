// Writes parts of ELF files into memory.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace causalctl::unwind {

// Makes the file longer if it is too short for the value.
template <typename Value>
void put(std::vector<std::byte>& file, std::size_t at, Value value) {
  if (file.size() < at + sizeof value) file.resize(at + sizeof value);
  std::memcpy(file.data() + at, &value, sizeof value);
}

// The header of a 64-bit file whose program headers follow it.
inline Elf64_Ehdr elf_header(std::uint16_t program_headers) {
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_phoff = sizeof elf;
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = program_headers;
  return elf;
}

inline void put_elf_header(std::vector<std::byte>& file, std::uint16_t program_headers) {
  put(file, 0, elf_header(program_headers));
}

}  // namespace causalctl::unwind

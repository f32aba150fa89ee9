#include "unwind/modules/load_segments.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostHeaders = 512;

}  // namespace

std::vector<LoadSegment> load_segments(const ReadFile& read) {
  Elf64_Ehdr elf{};
  if (!read(0, std::as_writable_bytes(std::span(&elf, 1)))) return {};
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
      elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > kMostHeaders) {
    return {};
  }
  std::vector<Elf64_Phdr> headers(elf.e_phnum);
  if (!read(elf.e_phoff, std::as_writable_bytes(std::span(headers)))) return {};
  std::vector<LoadSegment> segments;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_LOAD) continue;
    segments.push_back({header.p_offset, header.p_filesz, header.p_vaddr, header.p_memsz,
                        header.p_align, (header.p_flags & PF_X) != 0});
  }
  return segments;
}

std::vector<LoadSegment> load_segments(std::span<const std::byte> file) {
  return load_segments([file](std::uint64_t offset, std::span<std::byte> bytes) {
    if (offset > file.size() || bytes.size() > file.size() - offset) return false;
    std::memcpy(bytes.data(), file.data() + offset, bytes.size());
    return true;
  });
}

std::vector<LoadSegment> load_segments(int fd) {
  return load_segments([fd](std::uint64_t offset, std::span<std::byte> bytes) {
    return ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes.size());
  });
}

}  // namespace causalctl::unwind

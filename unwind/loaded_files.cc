#include "unwind/loaded_files.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

#include "controller/base/loader.h"
#include "unwind/target_file.h"
#include "unwind/target_memory.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostHeaders = 512;

// Fills all of the bytes from an offset in the file, or returns false.
using ReadFile = std::function<bool(std::uint64_t offset, std::span<std::byte>)>;

std::vector<LoadSegment> read_segments(const ReadFile& read) {
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

bool read_fd(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
  return ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes.size());
}

Address program_headers(Pid target) {
  const Address by_kernel = procfs::auxiliary(target, AT_PHDR);
  if (procfs::auxiliary(target, AT_BASE) != 0) return by_kernel;
  // A loader, or a static program.
  const auto stat = procfs::thread_stat(target, target);
  const Address stack = stat ? procfs::parse_stack_begin(*stat) : 0;
  const Address on_stack =
      auxiliary_on_stack(stack, AT_PHDR, [target](Address address, std::span<std::byte> bytes) {
        return read_target(target, address, bytes);
      });
  return on_stack != 0 ? on_stack : by_kernel;
}

}  // namespace

std::vector<LoadSegment> load_segments(int fd) {
  return read_segments([fd](std::uint64_t offset, std::span<std::byte> bytes) {
    return read_fd(fd, offset, bytes);
  });
}

std::vector<MappedFile> LoadedFiles::read() {
  const auto maps = procfs::maps(target_);
  return maps ? read(*maps) : std::vector<MappedFile>();
}

std::vector<MappedFile> LoadedFiles::read(const std::vector<procfs::Map>& maps) {
  ++reading_;
  FileFacts facts;
  facts.segments = [&](const procfs::Map& map) -> std::span<const LoadSegment> {
    return known(map, maps).segments;
  };
  facts.same_bytes = [&](const procfs::Map& map, Address bias, const MappedRange& range) {
    return same_bytes(map, bias, range);
  };
  const std::string executable = procfs::executable(target_);
  auto files = mapped_files(maps, executable, facts);
  find_main(files, executable);
  // An inode number may be given to another file once this one is gone.
  std::erase_if(files_, [&](const auto& each) { return each.second.seen != reading_; });
  std::erase_if(texts_, [&](const auto& each) { return each.second.seen != reading_; });
  return files;
}

const LoadedFiles::Known& LoadedFiles::known(const procfs::Map& map,
                                             const std::vector<procfs::Map>& maps) {
  const auto [place, is_new] = files_.try_emplace({map.device, map.inode, map.path});
  Known& found = place->second;
  found.seen = reading_;
  if (!is_new) return found;
  // The line with the ELF header tells best whether a file is the one that is mapped.
  const auto with_header = std::find_if(maps.begin(), maps.end(), [&](const procfs::Map& each) {
    return each.offset == 0 && each.inode == map.inode && each.device == map.device &&
           each.path == map.path;
  });
  const procfs::Map& part = with_header != maps.end() ? *with_header : map;
  if (const OpenedFile opened = open_mapped_file(target_, file_of_line(part)); opened.fd) {
    found.segments = load_segments(opened.fd.get());
  } else if (part.offset == 0) {
    found.segments = read_segments([&](std::uint64_t offset, std::span<std::byte> bytes) {
      const std::uint64_t size = part.end - part.start;
      return offset < size && bytes.size() <= size - offset &&
             read_target(target_, part.start + offset, bytes);
    });
  }
  return found;
}

bool LoadedFiles::same_bytes(const procfs::Map& map, Address bias, const MappedRange& range) {
  const FileKey key{map.device, map.inode, map.path};
  const auto [place, is_new] = texts_.try_emplace({range.start, range.end, bias, key});
  place->second.seen = reading_;
  if (!is_new) return place->second.same;
  const OpenedFile opened = open_mapped_file(target_, file_of_line(map));
  if (!opened.fd) return false;
  for (const LoadSegment& segment : files_.at(key).segments) {
    const Address start = bias + segment.address;
    const MappedRange text{std::max(range.start, start),
                           std::min(range.end, start + segment.file_size)};
    if (!segment.executable || text.start >= text.end) continue;
    const std::uint64_t offset = segment.offset + (text.start - start);
    place->second.same = same_as_file(opened.fd.get(), offset, target_, text);
  }
  return place->second.same;
}

void LoadedFiles::find_main(std::vector<MappedFile>& files, const std::string& executable) const {
  take_main(files, program_headers(target_));
  const auto main =
      std::find_if(files.begin(), files.end(), [](const auto& each) { return each.main; });
  if (!is_loader(main != files.end() ? main->path : executable)) return;
  const auto words = procfs::read_text(fmt::format("/proc/{}/cmdline", target_));
  take_program_of_loader(files, words.value_or(""));
}

}  // namespace causalctl::unwind

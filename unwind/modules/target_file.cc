#include "unwind/modules/target_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/base/procfs.h"
#include "controller/base/regular_file.h"
#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {
namespace {

constexpr std::uint64_t kPieceSize = 64;
constexpr std::uint64_t kPieces = 64;      // that are compared of a range
constexpr std::uint64_t kMostPatched = 8;  // one in so many may differ: breakpoints, patched calls
constexpr std::uint64_t kCodePage = 4096;
constexpr std::uint64_t kMostCompared = 1024;  // pages of one file's code
constexpr std::byte kBreakpoint{0xcc};

Fd open_regular(const std::string& path, struct stat& status) {
  Fd file = causalctl::open_regular(path);
  return file && ::fstat(file.get(), &status) == 0 ? std::move(file) : Fd();
}

// Compares the first page of the mapping: usually that of the ELF header, the program headers and,
// as linkers lay it out, the build-id.
bool first_page_matches(int fd, Pid target, const MappedFile& file) {
  std::array<std::byte, 4096> in_file{};
  std::array<std::byte, 4096> in_memory{};
  const ssize_t got =
      ::pread(fd, in_file.data(), in_file.size(), static_cast<off_t>(file.first_offset));
  if (got < 64) return false;
  const std::span<std::byte> memory(in_memory.data(), static_cast<std::size_t>(got));
  if (!read_target(target, file.first.start, memory)) return false;
  return std::equal(memory.begin(), memory.end(), in_file.begin());
}

// Returns the lines of the file's code.
std::vector<procfs::Map> code_lines(Pid target, const MappedFile& file) {
  std::vector<procfs::Map> lines = procfs::maps(target).value_or(std::vector<procfs::Map>());
  std::erase_if(lines, [&](const procfs::Map& line) {
    return !line.executable || line.inode != file.inode || line.device != file.device ||
           line.start < file.start || line.end > file.end;
  });
  return lines;
}

// On overlay file systems the inode number in maps may differ from that of stat(2), and another
// file system may have the same one. Another build of a program may have the same first page.
bool is_mapped_file(int fd, const struct stat& status, Pid target, const MappedFile& file) {
  if (!first_page_matches(fd, target, file)) return false;
  return status.st_ino == file.inode || (same_as_file(fd, file.first_offset, target, file.first) &&
                                         same_code(fd, target, code_lines(target, file)));
}

// Returns whether the inode is that of the mapping for certain. Some file systems tell another
// device in maps than to stat(2).
bool is_inode_of(const struct stat& status, const MappedFile& file) {
  const std::uint64_t device = std::uint64_t{major(status.st_dev)} << 32U | minor(status.st_dev);
  return status.st_ino == file.inode && device == file.device;
}

// Returns whether what is opened has another name than the file: something else is mapped at its
// addresses by now.
bool has_other_name(int fd, const MappedFile& file) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), text.data(), text.size());
  procfs::Map line;
  line.path = std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return base_name(file_path(line)) != base_name(file.path);
}

void open_by_our_name(OpenedFile& opened, const MappedFile& file) {
  if (file.inode == 0 || !file.path.starts_with('/')) return;
  struct stat status {};
  Fd named = open_regular(file.path, status);
  if (!named || !is_inode_of(status, file)) return;
  opened.fd = std::move(named);
  opened.path = file.path;
}

}  // namespace

bool same_as_file(int fd, std::uint64_t offset, Pid target, const MappedRange& range) {
  const std::uint64_t size = range.end - range.start;
  const std::uint64_t step = std::max<std::uint64_t>(size / kPieces, kPieceSize);
  std::uint64_t compared = 0;
  std::uint64_t different = 0;
  for (std::uint64_t at = 0; at + kPieceSize <= size; at += step) {
    std::array<std::byte, kPieceSize> in_file{};
    std::array<std::byte, kPieceSize> in_memory{};
    const ssize_t got =
        ::pread(fd, in_file.data(), in_file.size(), static_cast<off_t>(offset + at));
    if (got < static_cast<ssize_t>(kPieceSize)) break;  // the mapping may reach beyond the file
    if (!read_target(target, range.start + at, in_memory)) return false;
    ++compared;
    different += in_file == in_memory ? 0 : 1;
  }
  return compared > 0 && different <= compared / kMostPatched;
}

bool same_code(int fd, Pid target, const std::vector<procfs::Map>& lines) {
  std::uint64_t pages = 0;
  for (const procfs::Map& line : lines) pages += (line.end - line.start) / kCodePage;
  const std::uint64_t step = kCodePage * ((pages + kMostCompared - 1) / kMostCompared);
  for (const procfs::Map& line : lines) {
    for (std::uint64_t at = 0; line.start + at < line.end; at += step) {
      std::array<std::byte, kCodePage> in_file{};
      std::array<std::byte, kCodePage> in_memory{};
      const ssize_t got =
          ::pread(fd, in_file.data(), in_file.size(), static_cast<off_t>(line.offset + at));
      if (got <= 0) return false;
      const std::span<std::byte> memory(in_memory.data(), static_cast<std::size_t>(got));
      if (!read_target(target, line.start + at, memory)) return false;
      const auto may_be = [](std::byte theirs, std::byte ours) {
        return theirs == ours || theirs == kBreakpoint;
      };
      if (!std::equal(memory.begin(), memory.end(), in_file.begin(), may_be)) return false;
    }
  }
  return true;
}

OpenedFile open_mapped_file(Pid target, const MappedFile& file) {
  OpenedFile opened{Fd(), fmt::format("/proc/{}/root{}", target, file.path), 0};
  struct stat by_name {};
  struct stat by_mapping {};
  errno = 0;
  Fd named = open_regular(opened.path, by_name);
  opened.error = named ? 0 : errno;
  Fd mapped = open_regular(
      fmt::format("/proc/{}/map_files/{:x}-{:x}", target, file.first.start, file.first.end),
      by_mapping);
  // A record of a mapping may be read when it is gone.
  if (named && is_inode_of(by_name, file) && !(mapped && is_inode_of(by_mapping, file))) {
    opened.fd = std::move(named);
    return opened;
  }
  if (mapped && !is_inode_of(by_mapping, file) && has_other_name(mapped.get(), file)) mapped = Fd();
  if (mapped) {
    const bool same = by_name.st_dev == by_mapping.st_dev && by_name.st_ino == by_mapping.st_ino;
    opened.fd = named && same ? std::move(named) : std::move(mapped);
    return opened;
  }
  // Without the privilege for map_files the contents decide.
  if (named && is_mapped_file(named.get(), by_name, target, file)) {
    opened.fd = std::move(named);
    return opened;
  }
  Fd executable = open_regular(fmt::format("/proc/{}/exe", target), by_mapping);
  if (executable && is_mapped_file(executable.get(), by_mapping, target, file)) {
    opened.fd = std::move(executable);
  }
  if (!opened.fd) open_by_our_name(opened, file);
  return opened;
}

}  // namespace causalctl::unwind

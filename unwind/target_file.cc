#include "unwind/target_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "unwind/target_memory.h"

namespace causalctl::unwind {
namespace {

// Checks the file's type before it opens it: meanwhile the name may belong to a device or a FIFO,
// where opening has effects.
Fd open_regular(const std::string& path, struct stat& status) {
  const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Fd();
  return Fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
}

// The first page contains the ELF header, the program headers and, as linkers lay it out, the
// build-id.
bool first_page_matches(int fd, Pid target, const MappedFile& file) {
  std::array<std::byte, 4096> in_file{};
  std::array<std::byte, 4096> in_memory{};
  const ssize_t got =
      ::pread(fd, in_file.data(), in_file.size(), static_cast<off_t>(file.first_offset));
  if (got < 64) return false;
  const std::span<std::byte> memory(in_memory.data(), static_cast<std::size_t>(got));
  if (!read_target(target, file.start, memory)) return false;
  return std::equal(memory.begin(), memory.end(), in_file.begin());
}

}  // namespace

OpenedFile open_mapped_file(Pid target, const MappedFile& file) {
  OpenedFile opened{Fd(), fmt::format("/proc/{}/root{}", target, file.path)};
  struct stat by_name {};
  struct stat by_mapping {};
  Fd named = open_regular(opened.path, by_name);
  Fd mapped = open_regular(
      fmt::format("/proc/{}/map_files/{:x}-{:x}", target, file.first.start, file.first.end),
      by_mapping);
  if (!mapped && file.main) mapped = open_regular(fmt::format("/proc/{}/exe", target), by_mapping);
  if (mapped) {
    const bool same = by_name.st_dev == by_mapping.st_dev && by_name.st_ino == by_mapping.st_ino;
    opened.fd = named && same ? std::move(named) : std::move(mapped);
    return opened;
  }
  // Without the privilege for map_files we open the file by its name. On overlay file systems the
  // inode number in maps may differ from that of stat(2); then the contents decide.
  if (named && (by_name.st_ino == file.inode || first_page_matches(named.get(), target, file))) {
    opened.fd = std::move(named);
  }
  return opened;
}

}  // namespace causalctl::unwind

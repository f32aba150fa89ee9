#include "controller/progress/image.h"

#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/regular_file.h"
#include "unwind/modules/loaded_files.h"

namespace causalctl::progress {
namespace {

std::vector<procfs::Map> maps_of(Pid target) {
  auto maps = procfs::maps(target);
  if (!maps && access(fmt::format("/proc/{}", target).c_str(), F_OK) == 0) {
    throw Error(
        fmt::format("/proc/{}/maps may not be read", target),
        fmt::format("run as the process's user or as root; see 'causalctl doctor {}'", target));
  }
  if (!maps || maps->empty()) throw TargetGone(fmt::format("process {} is gone", target));
  return std::move(*maps);
}

bool is_file(const procfs::Map& map) { return map.inode != 0 && map.path.starts_with('/'); }

// Prefers the path through the target's root, because it stays valid after the mapping is gone. It
// is wrong if the file was deleted or replaced; then only map_files (which needs CAP_SYS_ADMIN or
// CAP_CHECKPOINT_RESTORE) leads to the file that runs.
std::string readable_path(Pid target, const procfs::Map& map) {
  const auto by_root = fmt::format("/proc/{}/root{}", target, map.path);
  const auto by_map = fmt::format("/proc/{}/map_files/{:x}-{:x}", target, map.start, map.end);
  struct stat root {};
  struct stat mapped {};
  const bool have_root = stat(by_root.c_str(), &root) == 0;
  if (stat(by_map.c_str(), &mapped) == 0) {
    const bool same = have_root && root.st_ino == mapped.st_ino && root.st_dev == mapped.st_dev;
    return same ? by_root : by_map;
  }
  return have_root && !map.path.ends_with(" (deleted)") ? by_root : std::string();
}

}  // namespace

ElfFile::ElfFile(const std::string& path) : file_(open_regular(path)), elf_(nullptr, elf_end) {
  if (!file_) return;
  elf_version(EV_CURRENT);
  elf_.reset(elf_begin(file_.get(), ELF_C_READ, nullptr));
  if (elf_ && (elf_kind(elf_.get()) != ELF_K_ELF || gelf_getclass(elf_.get()) != ELFCLASS64)) {
    elf_.reset();
  }
}

std::vector<Segment> read_segments(Elf* elf) {
  std::vector<Segment> segments;
  std::size_t count = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) return segments;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header{};
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD) continue;
    segments.push_back(
        {header.p_offset, header.p_filesz, header.p_vaddr, (header.p_flags & PF_X) != 0});
  }
  return segments;
}

std::optional<std::uint64_t> Image::file_offset(std::uint64_t link_address) const {
  for (const auto& segment : segments) {
    if (link_address < segment.address) continue;
    const auto within = link_address - segment.address;
    if (within < segment.file_size) return segment.offset + within;
  }
  return std::nullopt;
}

std::vector<Image> mapped_images(Pid target) {
  std::vector<Image> images;
  const auto maps = maps_of(target);
  for (const auto& file : unwind::LoadedFiles(target).read(maps)) {
    const auto map = std::find_if(maps.begin(), maps.end(), [&](const procfs::Map& each) {
      return each.start == file.first.start;
    });
    if (!file.bias || map == maps.end()) continue;
    Image image{file.path, readable_path(target, *map), *file.bias, {}};
    if (image.readable.empty()) continue;
    image.segments = read_segments(ElfFile(image.readable).get());
    images.push_back(std::move(image));
  }
  return images;
}

std::optional<FilePlace> file_place(Pid target, Address address) {
  for (const auto& map : maps_of(target)) {
    if (address < map.start || address >= map.end) continue;
    if (!map.executable || !is_file(map)) return std::nullopt;
    auto readable = readable_path(target, map);
    if (readable.empty()) return std::nullopt;
    return FilePlace{std::move(readable), unwind::file_path(map),
                     map.offset + (address - map.start)};
  }
  return std::nullopt;
}

}  // namespace causalctl::progress

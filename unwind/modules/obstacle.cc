#include "unwind/modules/obstacle.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/regular_file.h"
#include "unwind/modules/loaded_files.h"
#include "unwind/modules/target_file.h"
#include "unwind/modules/target_memory.h"
#include "unwind/tables/build_id.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

namespace causalctl::unwind {
namespace {

using ElfHandle = std::unique_ptr<Elf, int (*)(Elf*)>;

ElfHandle open_elf(int fd) {
  elf_version(EV_CURRENT);
  return {elf_begin(fd, ELF_C_READ, nullptr), elf_end};
}

// Takes the next word, separated by blanks, off `text`.
std::string_view next_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

template <typename Number>
Number number(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string user_name(uid_t user) {
  const passwd* entry = getpwuid(user);
  return entry != nullptr ? std::string(entry->pw_name) : fmt::format("uid {}", user);
}

Obstacle cannot_be_read(Pid target, const MappedFile& file, int error) {
  const std::string what = fmt::format("{} cannot be read: {}", file.path, std::strerror(error));
  const auto mounts = procfs::read_text(fmt::format("/proc/{}/mountinfo", target));
  if (const auto user = fuse_user(mounts.value_or(""), file.device); user && error == EACCES) {
    const std::string name = user_name(*user);
    return {fmt::format("{} (a FUSE file system of user {})", what, name),
            fmt::format("run causalctl as {}, or mount with allow_other", name)};
  }
  if (error == EACCES || error == EPERM) {
    return {what, "run as the target's user or as root"};
  }
  return {
      fmt::format("{} cannot be read: it was deleted, or its name means another file", file.path),
      "run as root, who can read deleted files while they are mapped"};
}

// Returns whether an ELF file is mapped there, and not code that the target has compiled, in a file
// that never had a name.
bool is_elf(Pid target, const MappedFile& file) {
  std::array<std::byte, SELFMAG> magic{};
  return read_target(target, file.first.start, magic) &&
         std::memcmp(magic.data(), ELFMAG, SELFMAG) == 0;
}

// The files in which debug information of this one may be, as far as their names are known
// without a search.
std::vector<std::string> debug_files(Elf* elf, const std::string& path) {
  std::vector<std::string> files;
  const std::string id = build_id_of(elf);
  if (id.size() > 2) files.push_back(debug_file_by_id("/usr/lib/debug", id));
  GElf_Word checksum = 0;
  if (const char* link = dwelf_elf_gnu_debuglink(elf, &checksum); link != nullptr) {
    const std::string folder = path.substr(0, path.rfind('/'));
    files.push_back(fmt::format("{}/{}", folder, link));
    files.push_back(fmt::format("{}/.debug/{}", folder, link));
  }
  return files;
}

Obstacle compressed(const std::string& path, unsigned type) {
  return {fmt::format("the debug sections of {} are compressed with {}, which the installed libelf "
                      "cannot read",
                      path, type == ELFCOMPRESS_ZSTD ? "zstd" : fmt::format("type {}", type)),
          fmt::format("objcopy --decompress-debug-sections {}", path)};
}

unsigned unreadable_compression(Elf* elf) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header{};
    GElf_Chdr compression{};
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED) == 0) {
      continue;
    }
    if (gelf_getchdr(section, &compression) == nullptr) continue;
    if (compression.ch_type != ELFCOMPRESS_ZLIB && elf_compress(section, 0, 0) < 0) {
      return compression.ch_type;
    }
  }
  return 0;
}

}  // namespace

std::optional<unsigned> fuse_user(std::string_view mountinfo, std::uint64_t device) {
  constexpr std::string_view key = "user_id=";
  const auto wanted = fmt::format("{}:{}", device >> 32U, device & 0xffffffffU);
  while (!mountinfo.empty()) {
    const auto end = std::min(mountinfo.find('\n'), mountinfo.size());
    std::string_view line = mountinfo.substr(0, end);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
    next_word(line);
    next_word(line);
    if (next_word(line) != wanted) continue;
    const auto source = line.find(" - fuse");
    const auto user = line.rfind(key);
    if (source == std::string_view::npos || user == std::string_view::npos) continue;
    return number<unsigned>(line.substr(user + key.size()));
  }
  return std::nullopt;
}

unsigned unreadable_compression(const std::string& path) {
  const Fd file = open_regular(path);
  const ElfHandle elf = file ? open_elf(file.get()) : ElfHandle(nullptr, elf_end);
  return elf ? unreadable_compression(elf.get()) : 0;
}

void note_obstacle(Pid target) {
  for (const auto& obstacle : {executable_obstacle(target), library_obstacle(target)}) {
    if (obstacle) log::note("warning: {}\n  hint: {}", obstacle->what, obstacle->hint);
  }
}

std::optional<Obstacle> library_obstacle(Pid target) {
  constexpr std::size_t kMostNamed = 3;
  std::optional<Obstacle> obstacle;
  std::vector<std::string> others;
  for (const MappedFile& file : LoadedFiles(target).read()) {
    if (file.main || file.path.starts_with('[') || !is_elf(target, file)) continue;
    const OpenedFile opened = open_mapped_file(target, file);
    if (opened.fd) continue;
    if (obstacle) {
      others.push_back(file.path);
    } else {
      obstacle = cannot_be_read(target, file, opened.error);
    }
  }
  if (!obstacle) return std::nullopt;
  obstacle->what += "; its functions have no names";
  if (others.empty()) return obstacle;
  const std::size_t count = others.size();
  others.resize(std::min(count, kMostNamed));
  obstacle->what += fmt::format(". So it is with {} more: {}{}", count, fmt::join(others, ", "),
                                count > kMostNamed ? ", …" : "");
  return obstacle;
}

std::optional<Obstacle> executable_obstacle(Pid target) {
  for (const MappedFile& file : LoadedFiles(target).read()) {
    if (!file.main) continue;
    const OpenedFile opened = open_mapped_file(target, file);
    if (!opened.fd) return cannot_be_read(target, file, opened.error);
    const ElfHandle elf = open_elf(opened.fd.get());
    if (!elf) return std::nullopt;
    if (const unsigned type = unreadable_compression(elf.get()); type != 0) {
      return compressed(file.path, type);
    }
    const std::string root = fmt::format("/proc/{}/root", target);
    for (const std::string& path : debug_files(elf.get(), opened.path)) {
      if (const unsigned type = unreadable_compression(path); type != 0) {
        return compressed(path.starts_with(root) ? path.substr(root.size()) : path, type);
      }
    }
  }
  return std::nullopt;
}

}  // namespace causalctl::unwind

#include "unwind/modules/debug_file_search.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "controller/base/log.h"
#include "controller/base/regular_file.h"
#include "unwind/modules/debug_file_check.h"
#include "unwind/tables/build_id.h"

namespace causalctl::unwind {
namespace {

// Below an absolute directory the binary's directory is looked for, then with ever fewer of its
// leading parts.
void add_links(const std::string& directory, const std::filesystem::path& folder,
               const std::string& link, std::vector<std::string>& files) {
  if (!directory.starts_with('/')) {
    files.push_back((folder / directory / link).string());
    return;
  }
  const std::vector<std::filesystem::path> parts(folder.begin(), folder.end());
  for (std::size_t first = folder.is_absolute() ? 1 : 0; first <= parts.size(); ++first) {
    std::filesystem::path path = directory;
    for (std::size_t i = first; i < parts.size(); ++i) path /= parts[i];
    files.push_back((path / link).string());
  }
}

std::vector<std::string> candidates(const std::string& id, const std::string& file,
                                    const char* link, const std::vector<std::string>& directories) {
  std::vector<std::string> files;
  for (const std::string& directory : directories) {
    if (id.empty() || !directory.starts_with('/')) continue;
    files.push_back(debug_file_by_id(directory, id));
  }
  const std::filesystem::path path = file;
  const std::string name = link != nullptr ? link : path.filename().string() + ".debug";
  for (const std::string& directory : directories) {
    add_links(directory, path.parent_path(), name, files);
  }
  return files;
}

// Returns the path within the target's mount namespace.
std::string shown(const std::string& path) {
  constexpr std::string_view kRoot = "/root/";
  const auto root = path.find(kRoot);
  const bool below = path.starts_with("/proc/") && root != std::string::npos;
  return below ? path.substr(root + kRoot.size() - 1) : path;
}

// Opens a debug file, or tells why it is not read, unless there is none.
Fd open_debug_file(const std::string& path) {
  Fd file = open_regular(path);
  if (!file && (errno == ENOTSUP || errno == EFBIG)) {
    tell_once(fmt::format("warning: the debug file {} is not read: it is {}", shown(path),
                          errno == EFBIG ? "too large" : "no regular file"));
  }
  return file;
}

// Returns the sum that .gnu_debuglink has of the file, or nullopt if it cannot be read.
std::optional<GElf_Word> checksum_of(Elf* elf) {
  std::size_t size = 0;
  const char* bytes = elf_rawfile(elf, &size);
  if (bytes == nullptr) return std::nullopt;
  return static_cast<GElf_Word>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes), size));
}

// Returns how a debug file shows that it is of another build than the binary with this build-id,
// which may have none.
std::optional<std::string> other_build(Elf* debug, const std::string& id, const DebugLink& link) {
  const std::string other = build_id_of(debug);
  if (!id.empty()) {
    if (other == id) return std::nullopt;
    if (other.empty()) return fmt::format("it has no build-id, and the binary has {}", id);
    return fmt::format("its build-id is {}, and the binary's {}", other, id);
  }
  if (link.name == nullptr) return std::nullopt;
  const auto checksum = checksum_of(debug);
  if (!checksum || *checksum == link.checksum) return std::nullopt;
  return fmt::format("its CRC is {:08x}, and the binary asks for {:08x}", *checksum, link.checksum);
}

std::string not_used(const std::string& path, const std::string& name, const std::string& why) {
  return fmt::format(
      "warning: {} is debug information of another build of {} ({}), so it is not used\n"
      "  hint: install the debug file of the build that runs, or restart the program from the "
      "build that the debug file belongs to",
      shown(path), shown(name), why);
}

}  // namespace

void tell_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(text).second) log::note("{}", text);
}

FoundDebugFile find_debug_file(Elf* binary, const std::string& name, const std::string& file,
                               const DebugLink& link, const std::vector<std::string>& directories) {
  FoundDebugFile found;
  std::string id = binary != nullptr ? build_id_of(binary) : std::string();
  if (id.size() < 4) id.clear();
  for (const std::string& path : candidates(id, file, link.name, directories)) {
    Fd fd = open_debug_file(path);
    if (!fd) continue;
    const std::unique_ptr<Elf, int (*)(Elf*)> debug(elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr),
                                                    elf_end);
    if (debug == nullptr || elf_kind(debug.get()) != ELF_K_ELF) continue;
    if (const auto why = other_build(debug.get(), id, link)) {
      if (found.other_build.empty()) found.other_build = not_used(path, name, *why);
      continue;
    }
    if (id.empty()) continue;
    if (const auto why = contradiction(binary, debug.get())) {
      found.rejected = true;
      tell_once(not_used(path, name, *why));
      continue;
    }
    found.fd = std::move(fd);
    std::error_code error;
    found.path = std::filesystem::canonical(path, error).string();
    if (error) found.path = path;
    return found;
  }
  return found;
}

}  // namespace causalctl::unwind

#include "unwind/mapped_file.h"

#include <algorithm>
#include <string_view>

namespace causalctl::unwind {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kVdso = "[vdso]";

bool is_named(const procfs::Map& map) {
  if (map.path == kVdso) return true;
  return !map.path.empty() && map.path.front() != '[';
}

std::string without_deleted(const std::string& path) {
  return path.ends_with(kDeleted) ? path.substr(0, path.size() - kDeleted.size()) : path;
}

}  // namespace

std::vector<MappedFile> mapped_files(const std::vector<procfs::Map>& maps,
                                     const std::string& executable) {
  std::vector<MappedFile> files;
  const procfs::Map* last = nullptr;
  for (const procfs::Map& map : maps) {
    if (map.path.empty() && map.inode == 0) continue;  // .bss, and gaps between segments
    if (!is_named(map)) {
      last = nullptr;
      continue;
    }
    // Segments are mapped by ascending offset, so a lower offset begins another copy of the same
    // file.
    const bool continues = last != nullptr && last->path == map.path && last->inode == map.inode &&
                           last->offset <= map.offset;
    if (!continues) {
      MappedFile file;
      file.path = without_deleted(map.path);
      file.inode = map.inode;
      file.start = map.start;
      file.main = map.path == executable;
      file.first = {map.start, map.end};
      file.first_offset = map.offset;
      files.push_back(std::move(file));
    }
    files.back().end = map.end;
    if (map.executable) files.back().code.push_back({map.start, map.end});
    last = &map;
  }
  std::erase_if(files, [](const MappedFile& file) { return file.code.empty(); });
  return files;
}

bool is_loader(const std::string& executable) {
  const std::string name = executable.substr(executable.rfind('/') + 1);
  return name.starts_with("ld-linux") || name == "ld.so" || name.starts_with("ld-musl") ||
         (name.starts_with("ld-2.") && name.ends_with(".so"));
}

void take_program_of_loader(std::vector<MappedFile>& files, std::string_view cmdline) {
  while (!cmdline.empty()) {
    const auto end = std::min(cmdline.find('\0'), cmdline.size());
    const std::string_view word = cmdline.substr(0, end);
    cmdline.remove_prefix(std::min(end + 1, cmdline.size()));
    // Begins at 0 if there is no slash.
    const std::string_view name = word.substr(word.rfind('/') + 1);
    const auto program = std::find_if(files.begin(), files.end(), [&](const MappedFile& file) {
      return !file.main && !name.empty() && file.path.ends_with("/" + std::string(name));
    });
    if (program == files.end()) continue;
    for (MappedFile& file : files) file.main = false;
    program->main = true;
    return;
  }
}

}  // namespace causalctl::unwind

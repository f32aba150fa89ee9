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
    if (map.path.empty() && map.inode == 0) continue;  // .bss and gaps between segments
    if (!is_named(map)) {
      last = nullptr;
      continue;
    }
    // Segments are mapped by ascending offset: a lower one begins another copy of the same file.
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

}  // namespace causalctl::unwind

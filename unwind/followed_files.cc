#include "unwind/followed_files.h"

#include <algorithm>
#include <utility>

namespace causalctl::unwind {

std::vector<MappedFile> FollowedFiles::take(std::vector<procfs::Map> maps) {
  maps_ = std::move(maps);
  return loaded_.read(maps_);
}

std::vector<MappedFile> FollowedFiles::mapped(const procfs::Map& line) {
  maps_ = with_mapping(maps_, line);
  std::vector<MappedFile> files = loaded_.read(maps_);
  return drop_others(files, line) ? loaded_.read(maps_) : files;
}

// Removes the lines of other files that reach into the span of the copy that the line belongs to,
// with all lines of their copies. Returns whether there were any.
bool FollowedFiles::drop_others(const std::vector<MappedFile>& files, const procfs::Map& line) {
  if (line.inode == 0) return false;
  const auto is_of_line = [&](const MappedFile& file) {
    return file.bias && file.inode == line.inode && file.device == line.device &&
           std::any_of(file.code.begin(), file.code.end(), [&](const MappedRange& range) {
             return range.start <= line.start && line.start < range.end;
           });
  };
  const auto own = std::find_if(files.begin(), files.end(), is_of_line);
  if (own == files.end()) return false;
  const auto overlap = [](const auto& a, const auto& b) {
    return a.start < b.end && b.start < a.end;
  };
  const std::size_t before = maps_.size();
  for (const MappedFile& other : files) {
    if (&other == &*own || !overlap(other, *own)) continue;
    std::erase_if(maps_, [&](const procfs::Map& map) {
      return map.inode == other.inode && map.device == other.device && map.start != line.start &&
             file_path(map) == other.path && overlap(map, other);
    });
  }
  std::erase_if(maps_, [&](const procfs::Map& map) {
    const bool is_own = map.inode == line.inode && map.device == line.device;
    return map.inode != 0 && !is_own && overlap(map, *own);
  });
  return maps_.size() != before;
}

}  // namespace causalctl::unwind

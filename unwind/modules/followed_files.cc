#include "unwind/modules/followed_files.h"

#include <algorithm>
#include <utility>

#include "unwind/modules/vdso.h"

namespace causalctl::unwind {

std::vector<MappedFile> FollowedFiles::take(std::vector<procfs::Map> maps) {
  noted_.clear();
  maps_ = std::move(maps);
  loaded_.forget_program();
  return loaded_.read(maps_);
}

std::vector<MappedFile> FollowedFiles::mapped(const procfs::Map& line) {
  noted_.push_back(line);
  return files();
}

void FollowedFiles::note(const procfs::Map& line) {
  loaded_.open(line);
  noted_.push_back(line);
}

std::vector<MappedFile> FollowedFiles::files() {
  take_noted();
  return loaded_.read(maps_);
}

const std::vector<procfs::Map>& FollowedFiles::maps() {
  take_noted();
  return maps_;
}

void FollowedFiles::unmap_all() {
  noted_.clear();
  maps_.clear();
  loaded_.forget();
}

void FollowedFiles::take_noted() {
  if (noted_.empty()) return;
  const bool may_drop = may_displace();
  for (const procfs::Map& line : noted_) {
    maps_ = with_mapping(std::move(maps_), line);
    if (may_drop && line.inode != 0) drop_others(loaded_.read(maps_, true), line);
  }
  noted_.clear();
}

// Returns false if no copy of a file reaches into another's span, so that none takes a place: as
// when a program begins. Then its files need be found only once, not after each mapping.
bool FollowedFiles::may_displace() {
  if (std::all_of(noted_.begin(), noted_.end(), [](const auto& line) { return line.inode == 0; })) {
    return false;
  }
  std::vector<Span> spans;
  bool has_code_in_no_file = false;
  bool has_data = false;
  for (const auto* lines : {&maps_, &noted_}) {
    for (const procfs::Map& line : *lines) {
      has_code_in_no_file |= line.executable && line.path.empty();
      has_data |= !line.executable && line.inode != 0;
      if (line.inode != 0 || line.path == kVdso) spans.push_back(span_of(line));
    }
  }
  if (has_code_in_no_file && has_data) return true;  // it may be text that was moved
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.range.start < b.range.start; });
  const Span* reaches = nullptr;  // the farthest so far
  for (const Span& span : spans) {
    if (reaches != nullptr && span.range.start < reaches->range.end) {
      const bool is_same_file = span.line->inode == reaches->line->inode &&
                                span.line->device == reaches->line->device &&
                                span.line->path == reaches->line->path;
      const bool are_copies = span.bias && reaches->bias && span.bias != reaches->bias;
      if (!is_same_file || are_copies) return true;
    }
    if (reaches == nullptr || span.range.end > reaches->range.end) reaches = &span;
  }
  return false;
}

// Returns the span of the copy that the line belongs to, or its own if that is not known.
FollowedFiles::Span FollowedFiles::span_of(const procfs::Map& line) {
  Span span{{line.start, line.end}, &line, std::nullopt};
  if (!line.executable || line.inode == 0) return span;
  const auto segments = loaded_.segments(line);
  span.bias = bias_of_code(line, segments);
  if (span.bias) span.range = copy_range(*span.bias, segments);
  return span;
}

// Removes the lines of other files that reach into the span of the copy that the line belongs to,
// with all lines of their copies.
void FollowedFiles::drop_others(const std::vector<MappedFile>& files, const procfs::Map& line) {
  const auto is_of_line = [&](const MappedFile& file) {
    return file.bias && file.inode == line.inode && file.device == line.device &&
           std::any_of(file.code.begin(), file.code.end(), [&](const MappedRange& range) {
             return range.start <= line.start && line.start < range.end;
           });
  };
  const auto own = std::find_if(files.begin(), files.end(), is_of_line);
  if (own == files.end()) return;
  const auto overlap = [](const auto& a, const auto& b) {
    return a.start < b.end && b.start < a.end;
  };
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
}

}  // namespace causalctl::unwind

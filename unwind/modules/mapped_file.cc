#include "unwind/modules/mapped_file.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "controller/base/base_name.h"
#include "unwind/modules/shared_memory.h"
#include "unwind/modules/vdso.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::unwind {
namespace {

// Text that was moved to anonymous memory lies between other parts of its file, which are at most
// this many lines away.
constexpr std::size_t kNeighbours = 16;

bool is_named(const procfs::Map& map) {
  if (map.path == kVdso) return true;
  if (is_shared_memory(map.path)) return false;  // with program headers it is a file nevertheless
  return !map.path.empty() && map.path.front() != '[';
}

bool is_gap(const procfs::Map& map) { return map.path.empty() && map.inode == 0; }

bool same_file(const procfs::Map& a, const procfs::Map& b) {
  return a.inode == b.inode && a.device == b.device && a.path == b.path;
}

Address page_down(Address address) { return address & ~(kPageBytes - 1); }
Address page_up(Address address) { return page_down(address + kPageBytes - 1); }

// Returns the bias if this line is a part of this segment.
std::optional<Address> bias_in(const procfs::Map& map, const LoadSegment& segment) {
  const std::uint64_t first = page_down(segment.offset);
  if (map.offset < first || map.offset >= segment.offset + segment.file_size) return std::nullopt;
  return map.start - map.offset + segment.offset - segment.address;
}

// Returns the part of the line that is where text of the file belongs, given its bias.
std::optional<MappedRange> text_in(const procfs::Map& map, Address bias,
                                   std::span<const LoadSegment> segments) {
  for (const LoadSegment& segment : segments) {
    if (!segment.executable) continue;
    const Address start = std::max(map.start, page_down(bias + segment.address));
    const Address end = std::min(map.end, page_up(bias + segment.address + segment.file_size));
    if (start < end) return MappedRange{start, end};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Address> bias_of_code(const procfs::Map& map, std::span<const LoadSegment> segments) {
  for (const LoadSegment& segment : segments) {
    if (!segment.executable) continue;
    if (const auto bias = bias_in(map, segment)) return bias;
  }
  return std::nullopt;
}

MappedRange copy_range(Address bias, std::span<const LoadSegment> segments) {
  const LoadSegment& last = segments.back();
  return {bias + page_down(segments.front().address),
          page_up(bias + last.address + last.memory_size)};
}

namespace {

class Finder {
 public:
  Finder(const std::vector<procfs::Map>& maps, const std::string& executable,
         const FileFacts& facts)
      : maps_(maps), executable_(executable), facts_(facts) {}

  std::vector<MappedFile> find() {
    for (std::size_t i = 0; i < maps_.size(); ++i) take(i);
    for (const std::size_t line : unexplained_) take_moved_text(line);
    std::erase_if(files_, [](const MappedFile& file) { return file.code.empty(); });
    for (MappedFile& file : files_) std::sort(file.code.begin(), file.code.end());
    std::stable_sort(files_.begin(), files_.end(),
                     [](const MappedFile& a, const MappedFile& b) { return a.start < b.start; });
    return std::move(files_);
  }

 private:
  std::span<const LoadSegment> segments(const procfs::Map& map) const {
    if (!facts_.segments || map.inode == 0) return {};
    return facts_.segments(map);
  }

  void take(std::size_t line);
  void take_by_neighbours(const procfs::Map& map);
  void take_moved_text(std::size_t line);
  bool is_moved_text(const procfs::Map& text, const procfs::Map& part);
  MappedFile& copy(const procfs::Map& map, Address bias, std::span<const LoadSegment> segments);
  MappedFile begin_file(const procfs::Map& map) const;

  const std::vector<procfs::Map>& maps_;
  const std::string& executable_;
  const FileFacts& facts_;
  std::vector<MappedFile> files_;
  std::vector<std::size_t> unexplained_;  // executable lines that no file explains
  const procfs::Map* last_ = nullptr;     // the line of the file that is put together, or null
  std::size_t last_file_ = 0;             // its index
};

MappedFile Finder::begin_file(const procfs::Map& map) const {
  MappedFile file = file_of_line(map);
  file.link_start = map.start;
  file.main = file.path == executable_;
  return file;
}

MappedFile& Finder::copy(const procfs::Map& map, Address bias,
                         std::span<const LoadSegment> segments) {
  const auto known = std::find_if(files_.begin(), files_.end(), [&](const MappedFile& each) {
    return each.bias == bias && each.inode == map.inode && each.device == map.device &&
           each.path == file_path(map);
  });
  if (known != files_.end()) return *known;
  MappedFile file = begin_file(map);
  const LoadSegment& first = segments.front();
  const MappedRange range = copy_range(bias, segments);
  file.bias = bias;
  file.start = range.start;
  file.end = range.end;
  // Of libdwfl's open_elf(): p_vaddr & -p_align of the first segment.
  file.link_start = bias + (first.address & (first.alignment == 0 ? ~0UL : -first.alignment));
  // The line with the ELF header tells best whether a file is the one that is mapped.
  const auto header =
      std::lower_bound(maps_.begin(), maps_.end(), file.start,
                       [](const procfs::Map& each, Address start) { return each.start < start; });
  if (header != maps_.end() && header->start == file.start && same_file(*header, map)) {
    file.first = {header->start, header->end};
    file.first_offset = header->offset;
  }
  files_.push_back(std::move(file));
  return files_.back();
}

void Finder::take(std::size_t line) {
  const procfs::Map& map = maps_[line];
  const auto headers = map.executable ? segments(map) : std::span<const LoadSegment>();
  if (headers.empty()) {
    if (map.executable && map.path != kVdso) unexplained_.push_back(line);
    take_by_neighbours(map);
    return;
  }
  last_ = nullptr;
  // A line that does not begin in the text maps the file as data, though executable.
  if (const auto bias = bias_of_code(map, headers)) {
    copy(map, *bias, headers).code.push_back({map.start, map.end});
  }
}

// Without program headers, lines of one file that follow each other are taken for one copy.
// Segments are mapped by ascending offset, so a lower offset begins another one.
void Finder::take_by_neighbours(const procfs::Map& map) {
  if (is_gap(map)) return;  // .bss, and gaps between segments
  if (!is_named(map)) {
    last_ = nullptr;
    return;
  }
  const bool continues = last_ != nullptr && same_file(*last_, map) && last_->offset <= map.offset;
  if (!continues) {
    last_file_ = files_.size();
    files_.push_back(begin_file(map));
  }
  files_[last_file_].end = map.end;
  if (map.executable) files_[last_file_].code.push_back({map.start, map.end});
  last_ = &map;
}

// Takes an executable line for text of a file that was moved there, if a part of the file lies so
// that its text belongs there, and it is the same text. Code that was compiled at run time is not.
void Finder::take_moved_text(std::size_t line) {
  for (std::size_t distance = 1; distance <= kNeighbours; ++distance) {
    if (distance <= line && is_moved_text(maps_[line], maps_[line - distance])) return;
    if (line + distance < maps_.size() && is_moved_text(maps_[line], maps_[line + distance]))
      return;
  }
}

bool Finder::is_moved_text(const procfs::Map& text, const procfs::Map& part) {
  const auto headers = segments(part);
  for (const LoadSegment& segment : headers) {
    const auto bias = bias_in(part, segment);
    const auto range = bias ? text_in(text, *bias, headers) : std::nullopt;
    if (!range || !facts_.same_bytes || !facts_.same_bytes(part, *bias, *range)) continue;
    for (MappedFile& file : files_) {  // text in a file in memory has been taken for that file's
      if (!file.bias) std::erase(file.code, MappedRange{text.start, text.end});
    }
    copy(part, *bias, headers).code.push_back(*range);
    return true;
  }
  return false;
}

}  // namespace

std::string file_path(const procfs::Map& map) { return std::string(without_deleted(map.path)); }

std::vector<procfs::Map> with_mapping(std::vector<procfs::Map> maps, const procfs::Map& line) {
  const auto first =
      std::lower_bound(maps.begin(), maps.end(), line.start,
                       [](const procfs::Map& each, Address start) { return each.end <= start; });
  const auto last =
      std::lower_bound(first, maps.end(), line.end,
                       [](const procfs::Map& each, Address end) { return each.start < end; });
  std::vector<procfs::Map> fresh;
  const auto put = [&](const procfs::Map& old, Address start, Address end) {
    if (start >= end) return;
    procfs::Map part = old;
    part.start = start;
    part.end = end;
    part.offset += start - old.start;
    fresh.push_back(std::move(part));
  };
  if (first != last) put(*first, first->start, line.start);
  fresh.push_back(line);
  if (first != last) put(*std::prev(last), line.end, std::prev(last)->end);
  const auto place = maps.erase(first, last);
  maps.insert(place, std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  return maps;
}

MappedFile file_of_line(const procfs::Map& map) {
  MappedFile file;
  file.path = file_path(map);
  file.device = map.device;
  file.inode = map.inode;
  file.start = map.start;
  file.end = map.end;
  file.first = {map.start, map.end};
  file.first_offset = map.offset;
  return file;
}

std::vector<MappedFile> mapped_files(const std::vector<procfs::Map>& maps,
                                     const std::string& executable, const FileFacts& facts) {
  return Finder(maps, executable, facts).find();
}

bool take_main(std::vector<MappedFile>& files, Address program_headers) {
  const auto program = std::find_if(files.begin(), files.end(), [&](const MappedFile& file) {
    return file.start <= program_headers && program_headers < file.end;
  });
  if (program == files.end()) return false;
  for (MappedFile& file : files) file.main = false;
  program->main = true;
  return true;
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

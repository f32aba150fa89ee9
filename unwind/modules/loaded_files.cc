#include "unwind/modules/loaded_files.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "controller/base/loader.h"
#include "unwind/modules/load_segments.h"
#include "unwind/modules/target_file.h"
#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {
namespace {

// Of a loader, or of a static program.
Address program_headers(Pid target, Address by_kernel) {
  const auto stat = procfs::thread_stat(target, target);
  const Address stack = stat ? procfs::parse_stack_begin(*stat) : 0;
  const Address on_stack =
      auxiliary_on_stack(stack, AT_PHDR, [target](Address address, std::span<std::byte> bytes) {
        return read_target(target, address, bytes);
      });
  return on_stack != 0 ? on_stack : by_kernel;
}

}  // namespace

std::vector<MappedFile> LoadedFiles::read() {
  const auto maps = procfs::maps(target_);
  return maps ? read(*maps) : std::vector<MappedFile>();
}

std::vector<MappedFile> LoadedFiles::read(const std::vector<procfs::Map>& maps, bool more_to_come) {
  ++reading_;
  FileFacts facts;
  facts.segments = [&](const procfs::Map& map) -> std::span<const LoadSegment> {
    return known(map, maps).segments;
  };
  facts.same_bytes = [&](const procfs::Map& map, Address bias, const MappedRange& range) {
    return same_bytes(map, bias, range);
  };
  auto files = mapped_files(maps, shared_ ? std::string() : program().executable, facts);
  if (!shared_) find_main(files);
  if (more_to_come) return files;
  // An inode number may be given to another file once this one is gone.
  std::erase_if(files_, [&](const auto& each) { return each.second.seen != reading_; });
  std::erase_if(texts_, [&](const auto& each) { return each.second.seen != reading_; });
  return files;
}

const LoadedFiles::Program& LoadedFiles::program() {
  if (!program_) {
    program_ = Program{procfs::executable(target_), procfs::auxiliary(target_, AT_PHDR),
                       procfs::auxiliary(target_, AT_BASE) != 0};
  }
  return *program_;
}

void LoadedFiles::forget() {
  program_.reset();
  files_.clear();
  texts_.clear();
}

void LoadedFiles::open(const procfs::Map& line) {
  if (line.inode != 0) known(line, {});
}

const LoadedFiles::Known& LoadedFiles::known(const procfs::Map& map,
                                             const std::vector<procfs::Map>& maps) {
  const auto [place, is_new] = files_.try_emplace({map.device, map.inode, map.path});
  Known& found = place->second;
  found.seen = reading_;
  if (!is_new) return found;
  // The line with the ELF header tells best whether a file is the one that is mapped.
  const auto with_header = std::find_if(maps.begin(), maps.end(), [&](const procfs::Map& each) {
    return each.offset == 0 && each.inode == map.inode && each.device == map.device &&
           each.path == map.path;
  });
  find_segments(found, with_header != maps.end() ? *with_header : map);
  return found;
}

void LoadedFiles::find_segments(Known& file, const procfs::Map& part) const {
  if (shared_) {
    file.file = shared_->of(target_, file_of_line(part));
    file.segments = file.file->segments();
    if (!file.file->elf().file().empty()) return;
  } else if (const OpenedFile opened = open_mapped_file(target_, file_of_line(part)); opened.fd) {
    file.segments = load_segments(opened.fd.get());
    return;
  }
  if (part.offset != 0) return;
  file.segments = load_segments([&](std::uint64_t offset, std::span<std::byte> bytes) {
    const std::uint64_t size = part.end - part.start;
    return offset < size && bytes.size() <= size - offset &&
           read_target(target_, part.start + offset, bytes);
  });
}

bool LoadedFiles::same_bytes(const procfs::Map& map, Address bias, const MappedRange& range) {
  const FileKey key{map.device, map.inode, map.path};
  const auto [place, is_new] = texts_.try_emplace({range.start, range.end, bias, key});
  place->second.seen = reading_;
  if (!is_new) return place->second.same;
  const OpenedFile opened = open_mapped_file(target_, file_of_line(map));
  if (!opened.fd) return false;
  for (const LoadSegment& segment : files_.at(key).segments) {
    const Address start = bias + segment.address;
    const MappedRange text{std::max(range.start, start),
                           std::min(range.end, start + segment.file_size)};
    if (!segment.executable || text.start >= text.end) continue;
    const std::uint64_t offset = segment.offset + (text.start - start);
    place->second.same = same_as_file(opened.fd.get(), offset, target_, text);
  }
  return place->second.same;
}

void LoadedFiles::find_main(std::vector<MappedFile>& files) {
  const auto& [executable, headers, has_loader] = program();
  take_main(files, has_loader ? headers : program_headers(target_, headers));
  const auto main =
      std::find_if(files.begin(), files.end(), [](const auto& each) { return each.main; });
  if (!is_loader(main != files.end() ? main->path : executable)) return;
  const auto words = procfs::read_text(fmt::format("/proc/{}/cmdline", target_));
  take_program_of_loader(files, words.value_or(""));
}

}  // namespace causalctl::unwind

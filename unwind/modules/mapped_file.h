// Finds the files with code that a process has mapped, by the lines of /proc/PID/maps. Pure.
//
// The lines alone do not tell which of them belong together: a program may map its own file again
// as data, beside the loaded copy, or may move its text to anonymous memory at the same addresses,
// so that pages are larger (BOLT's --hugify, Chromium, HHVM). Where the file's program headers are
// known, each executable line gives the load bias of the copy that it belongs to:
//
//   bias = start of the line - its offset + p_offset - p_vaddr     (ELF gABI, "Program Loading")
//
// and lines with one bias are one copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::unwind {

struct MappedRange {
  Address start = 0;
  Address end = 0;
  auto operator<=>(const MappedRange&) const = default;
};

struct LoadSegment {  // one PT_LOAD
  std::uint64_t offset = 0;
  std::uint64_t file_size = 0;
  Address address = 0;  // link-time
  std::uint64_t memory_size = 0;
  std::uint64_t alignment = 0;
  bool executable = false;
};

// One loaded copy of a file (or the vdso).
struct MappedFile {
  std::string path;  // without the kernel's " (deleted)"
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  Address start = 0;  // lowest mapped address
  Address end = 0;
  std::optional<Address> bias;  // unknown if its program headers are
  Address link_start = 0;       // where libdw takes the file to begin: start, if aligned
  bool main = false;            // the executable itself
  MappedRange first;            // a mapping by which /proc/PID/map_files names it
  std::uint64_t first_offset = 0;
  std::vector<MappedRange> code;  // the executable mappings
  bool operator==(const MappedFile&) const = default;
};

// What is known beside the lines. A function that is not set knows nothing.
struct FileFacts {
  // Returns the segments of the file of a line in ascending order, or none if they are not known.
  std::function<std::span<const LoadSegment>(const procfs::Map&)> segments;
  // Returns whether the target's memory in this range has what the file of this line has there when
  // it is loaded with this bias.
  std::function<bool(const procfs::Map&, Address bias, const MappedRange&)> same_bytes;
};

std::string file_path(const procfs::Map& map);  // without " (deleted)"
// Returns the load bias of the copy that an executable line belongs to, given the segments of its
// file, or nullopt if the line does not begin in the text.
std::optional<Address> bias_of_code(const procfs::Map& map, std::span<const LoadSegment> segments);
// Returns the whole pages that a copy takes. REQUIRES: there are segments.
MappedRange copy_range(Address bias, std::span<const LoadSegment> segments);
// The file of a line as if this were its only one; nothing is known of its headers.
MappedFile file_of_line(const procfs::Map& map);

// Returns the lines with one more, which replaces what was there. REQUIRES: they are sorted by
// address and do not overlap; so is the result.
std::vector<procfs::Map> with_mapping(std::vector<procfs::Map> maps, const procfs::Map& line);

inline constexpr std::size_t kLargestVdso = 1U << 20U;  // at most this many bytes of it are read

// Returns them sorted by address, without files that have no code mapped (data, locale archives),
// and without what the kernel names in brackets, except the vdso. `executable` is what
// procfs::executable() returns.
std::vector<MappedFile> mapped_files(const std::vector<procfs::Map>& maps,
                                     const std::string& executable, const FileFacts& facts = {});

// Makes the file that has the program headers of the executable (AT_PHDR) the main one. Returns
// false, and changes nothing, if there is none.
bool take_main(std::vector<MappedFile>& files, Address program_headers);

// Makes the first file that a word of /proc/PID/cmdline names the executable, in place of the
// loader. If there is none, the loader stays.
void take_program_of_loader(std::vector<MappedFile>& files, std::string_view cmdline);

}  // namespace causalctl::unwind

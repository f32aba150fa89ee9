// Finds the files with code that a process has mapped, by the lines of /proc/PID/maps. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
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

// One loaded copy of a file (or the vdso), made of consecutive mappings.
struct MappedFile {
  std::string path;  // without the kernel's " (deleted)"
  std::uint64_t inode = 0;
  Address start = 0;  // lowest mapped address
  Address end = 0;
  bool main = false;  // the executable itself
  MappedRange first;  // the first mapping, by which /proc/PID/map_files names it
  std::uint64_t first_offset = 0;
  std::vector<MappedRange> code;  // the executable mappings
  bool operator==(const MappedFile&) const = default;
};

inline constexpr std::size_t kLargestVdso = 1U << 20U;  // at most this many bytes of it are read

// Returns them sorted by address, without files that have no executable mapping (data, locale
// archives), and without what the kernel names in brackets, except the vdso. `executable` is the
// target of the link /proc/PID/exe.
std::vector<MappedFile> mapped_files(const std::vector<procfs::Map>& maps,
                                     const std::string& executable);

// A program may be started through its dynamic loader (`ld.so ./prog`), to which /proc/PID/exe then
// leads.
bool is_loader(const std::string& executable);
// Makes the first file that a word of /proc/PID/cmdline names the executable, in place of the
// loader. If there is none, the loader stays.
void take_program_of_loader(std::vector<MappedFile>& files, std::string_view cmdline);

}  // namespace causalctl::unwind

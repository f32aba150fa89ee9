// The files with code that a process has mapped, from the lines of /proc/PID/maps. Pure.
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

// One loaded copy of a file (or the vdso): its consecutive mappings together.
struct MappedFile {
  std::string path;  // without the kernel's " (deleted)"
  std::uint64_t inode = 0;
  Address start = 0;  // lowest mapped address
  Address end = 0;
  bool main = false;  // the executable itself
  MappedRange first;  // the first mapping: what /proc/PID/map_files calls it
  std::uint64_t first_offset = 0;
  std::vector<MappedRange> code;  // the executable mappings
  bool operator==(const MappedFile&) const = default;
};

inline constexpr std::size_t kLargestVdso = 1U << 20U;  // bytes of it that are read, at most

// Sorted by address. Files without an executable mapping (data, locale archives) are left out, and
// so is what the kernel names in brackets, except the vdso. `executable` is the text of
// /proc/PID/exe.
std::vector<MappedFile> mapped_files(const std::vector<procfs::Map>& maps,
                                     const std::string& executable);

// A program may be started through its dynamic loader (`ld.so ./prog`), which is then the text of
// /proc/PID/exe.
bool is_loader(const std::string& executable);
// Makes the first file that a word of /proc/PID/cmdline names the executable, in the loader's
// place; where there is none it stays.
void take_program_of_loader(std::vector<MappedFile>& files, std::string_view cmdline);

}  // namespace causalctl::unwind

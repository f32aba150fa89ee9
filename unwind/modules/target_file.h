// Opens the very file that a process has mapped, in its mount namespace, even if its name was
// deleted or now means another file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

struct OpenedFile {
  Fd fd;             // not open if the file cannot be had
  std::string path;  // where the name leads: debug files are looked for beside it
  int error = 0;     // the errno with which opening by the name failed; 0 if another file has it
};

// Tries /proc/PID/root/PATH and /proc/PID/map_files (which needs privileges). Without privileges it
// takes PATH, or /proc/PID/exe, if its contents are those of the mapping. Source: proc(5). Of a
// process that is gone it takes what has the name for us, if device and inode are those of the
// mapping.
OpenedFile open_mapped_file(Pid target, const MappedFile& file);

// Returns whether the target has in this range what the file has from this offset, by samples of
// it. Code differs a little where a debugger has put breakpoints, or where it is patched.
bool same_as_file(int fd, std::uint64_t offset, Pid target, const MappedRange& range);

// Returns whether the target has the file's code in these lines of its maps, to the byte: all pages
// of up to 4 MiB, and so many of what is longer. A breakpoint (int3) is no difference.
bool same_code(int fd, Pid target, const std::vector<procfs::Map>& lines);

}  // namespace causalctl::unwind

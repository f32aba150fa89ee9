// Opens the very file that a process has mapped, in its mount namespace, also where its name has
// been deleted or now means another file.
#pragma once

#include <string>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "unwind/mapped_file.h"

namespace causalctl::unwind {

struct OpenedFile {
  Fd fd;             // not open: the file is not to be had
  std::string path;  // where it would be by name: debug files are looked for beside it
};

// /proc/PID/root/PATH when it is the mapped file; else /proc/PID/map_files (needs privileges), else
// /proc/PID/exe for the executable. Source: proc(5).
OpenedFile open_mapped_file(Pid target, const MappedFile& file);

}  // namespace causalctl::unwind

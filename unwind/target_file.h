// Opens the very file that a process has mapped, in its mount namespace, even if its name was
// deleted or now means another file.
#pragma once

#include <string>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "unwind/mapped_file.h"

namespace causalctl::unwind {

struct OpenedFile {
  Fd fd;             // not open if the file cannot be had
  std::string path;  // where the name leads: debug files are looked for beside it
};

// Tries /proc/PID/root/PATH, if that is the mapped file; then /proc/PID/map_files (needs
// privileges); then, for the executable, /proc/PID/exe. Source: proc(5).
OpenedFile open_mapped_file(Pid target, const MappedFile& file);

}  // namespace causalctl::unwind

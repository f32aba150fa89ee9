// Opens a file that the user named for output, such that nobody else can read what is written.
#pragma once

#include <string>
#include <string_view>

#include "controller/base/fd.h"

namespace causalctl {

// Creates `path` with mode 0600 (less the umask), or opens it for appending; a caller that replaces
// it truncates it. `path` may be a pipe or a device. An existing file keeps its mode and its
// content. Throws Error, before anything is written, if the last component is
//   - a symbolic link;
//   - a file with a second name (a hard link), which may lie where others can read it;
//   - a file that belongs neither to us nor to the directory's owner: somebody may have planted it.
// `hint` is given with all other errors of open(2).
Fd open_output(const std::string& path, std::string_view hint);

}  // namespace causalctl

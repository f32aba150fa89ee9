// Opens a file that the user named for output, without giving what is written to anybody else.
#pragma once

#include <string>
#include <string_view>

#include "controller/base/fd.h"

namespace causalctl {

// Creates `path` with mode 0600 (less the umask), or opens it for appending, to be truncated by the
// caller if it is to be replaced. `path` may be a pipe or a device; an existing file keeps its mode
// and its content. Throws Error, before anything was written, where the last component is
//   - a symbolic link;
//   - a file with a second name (a hard link), which may lie where others read;
//   - a file of another user's than ours or the directory's owner: it was planted, or is not meant.
// `hint` is for the other errors of open(2).
Fd open_output(const std::string& path, std::string_view hint);

}  // namespace causalctl

// Finds the separate debug file of a binary as dwfl_standard_find_debuginfo() does, by build-id and
// by .gnu_debuglink, and passes over files of other builds with the same build-id. libdwfl's own
// function gives what it finds to its module at once, so that nothing can refuse it.
#pragma once

#include <libelf.h>

#include <string>
#include <vector>

#include "controller/base/fd.h"

namespace causalctl::unwind {

struct FoundDebugFile {
  Fd fd;  // not open if there is none
  std::string path;
  bool rejected = false;  // true if a file of another build was passed over, which the user is told
};

// `name` is what the user calls the binary, `file` is where it is read, and `link` its
// .gnu_debuglink, or null. Relative directories are those of the binary. Finds nothing for a binary
// without a build-id, but tells the user of names that lead to no regular file.
FoundDebugFile find_debug_file(Elf* binary, const std::string& name, const std::string& file,
                               const char* link, const std::vector<std::string>& directories);

}  // namespace causalctl::unwind

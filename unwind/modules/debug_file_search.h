// Finds the separate debug file of a binary as dwfl_standard_find_debuginfo() does, by build-id and
// by .gnu_debuglink, and passes over files of other builds with the same build-id. libdwfl's own
// function gives what it finds to its module at once, so that nothing can refuse it.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <string>
#include <vector>

#include "controller/base/fd.h"

namespace causalctl::unwind {

struct FoundDebugFile {
  Fd fd;  // not open if there is none
  std::string path;
  bool rejected = false;  // true if a file of another build was passed over, which the user is told
  // Of a file that is obviously of another build, what the user is to be told if no other is found.
  std::string other_build;
};

// The .gnu_debuglink of a binary.
struct DebugLink {
  const char* name = nullptr;  // null if there is none
  GElf_Word checksum = 0;
};

// `name` is what the user calls the binary, `file` is where it is read. Relative directories are
// those of the binary. Finds nothing for a binary without a build-id, but tells the user of names
// that lead to no regular file.
FoundDebugFile find_debug_file(Elf* binary, const std::string& name, const std::string& file,
                               const DebugLink& link, const std::vector<std::string>& directories);

// Tells the user something; the same only once, as several symbolizers may come to one file.
void tell_once(const std::string& text);

}  // namespace causalctl::unwind

// The build-id of a file, and where a debug file is by it.
#pragma once

#include <libelf.h>

#include <string>

namespace causalctl::unwind {

// Returns it in hexadecimal; empty if there is none.
std::string build_id_of(Elf* elf);

// Returns where the debug file is below a directory as /usr/lib/debug. REQUIRES: the build-id has
// more than one byte.
std::string debug_file_by_id(const std::string& directory, const std::string& build_id);

}  // namespace causalctl::unwind

// Files as they are, from their first byte to their last.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/fd.h"

namespace causalctl {

// Returns what is in a regular file, whatever its offset is; nullopt if it is none, if it has more
// than `most` bytes, or if it cannot be read.
std::optional<std::string> read_whole(const Fd& file, std::size_t most);

// Returns a file in memory with these bytes, or none and errno. `name`: for /proc/PID/fd.
Fd memory_file(const char* name, std::string_view bytes);

}  // namespace causalctl

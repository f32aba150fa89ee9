// Tells why nothing, or too little, can be read of the program that a process executes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/types.h"

namespace causalctl::unwind {

struct Obstacle {
  std::string what;
  std::string hint;
};

// Returns nullopt if the executable can be read, which does not say that it has symbols. Asks no
// server.
std::optional<Obstacle> executable_obstacle(Pid target);
// Does the same for its libraries: names those whose functions can have no names for that reason.
std::optional<Obstacle> library_obstacle(Pid target);
void note_obstacle(Pid target);  // tells the user of both, if there are any

// Returns the user who mounted the FUSE file system with this device number (as procfs::Map has
// it), given the text of /proc/PID/mountinfo, or nullopt if it is no FUSE file system. Pure.
std::optional<unsigned> fuse_user(std::string_view mountinfo, std::uint64_t device);

// Returns the first of the files' sections of debug information that libelf cannot decompress:
// its type of compression (ELFCOMPRESS_ZSTD), or 0 if there is none.
unsigned unreadable_compression(const std::string& path);

}  // namespace causalctl::unwind

// Memory that has a name or a descriptor, which /proc/PID/maps shows as it shows files. Programs
// that compile at run time map it twice, once to write and once to execute.
#pragma once

#include <string_view>

namespace causalctl::unwind {

// Returns whether the mapping is of memfd_create(2), of shared anonymous memory, of shmget(2) or of
// /dev/shm. A library may be loaded from there as well, as its ELF header says. Pure.
inline bool is_shared_memory(std::string_view path) {
  return path.starts_with("/memfd:") || path.starts_with("/dev/zero") ||
         path.starts_with("/SYSV") || path.starts_with("/dev/shm/");
}

}  // namespace causalctl::unwind

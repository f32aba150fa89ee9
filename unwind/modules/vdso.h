// The vdso: code that the kernel maps into each process, and that is in no file.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

inline constexpr std::string_view kVdso = "[vdso]";  // as the kernel names its mapping

// Returns the bytes of the target's vdso, or if it cannot be read, as in a process that has ended,
// those of our own: the kernel gives all 64-bit processes the same.
std::vector<std::byte> vdso_bytes(Pid target, const MappedFile& file);

// Returns a file with these bytes, or none and errno.
Fd vdso_file(const std::vector<std::byte>& bytes);

}  // namespace causalctl::unwind

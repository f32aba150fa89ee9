// Programs that are started through their dynamic loader (`ld.so ./prog`). /proc/PID/exe and
// /proc/PID/auxv then tell of the loader; glibc's corrects the auxiliary vector on the stack, so
// that it is as if the program had been executed directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "controller/base/types.h"

namespace causalctl {

bool is_loader(const std::string& executable);  // tells by the name of the file

// Fills all of the bytes from an address of the target, or returns false.
using ReadMemory = std::function<bool(Address, std::span<std::byte>)>;

// Returns an entry of the auxiliary vector (AT_… of getauxval(3)) above the arguments and the
// environment, which begin at `stack_begin` (procfs::parse_stack_begin()), or 0 if it is not found.
std::uint64_t auxiliary_on_stack(Address stack_begin, std::uint64_t type, const ReadMemory& read);

}  // namespace causalctl

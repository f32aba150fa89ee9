// Tells whether the code in the target's memory is that of its file.
//
// At a uprobe the kernel executes the instruction of the file, and puts the file's byte back at the
// end. Both destroy code that the program has changed in memory: an entry that was patched (hooks,
// XRay, live patches) or a relocation in the text (`ld -z notext`).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "controller/base/types.h"

namespace causalctl::progress {

// Returns whether an instruction's bytes in memory are those of the file. If `may_be_uprobe`, the
// first may also be an int3, which another program's uprobe has put there. Pure.
bool same_code(std::span<const std::byte> file, std::span<const std::byte> memory,
               bool may_be_uprobe);

// Returns an address at which the instruction at `address` differs from its file, in any mapping
// of this part of the file, or nullopt if it is the same in all. What cannot be read differs.
std::optional<Address> differs_from_file(Pid target, Address address);

}  // namespace causalctl::progress

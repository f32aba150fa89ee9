// Tells whether a separate debug file is of the same build as a binary. An equal build-id does not
// show that where builds set it by hand (--build-id=0x…).
#pragma once

#include <libelf.h>

#include <optional>
#include <string>

namespace causalctl::unwind {

// Returns how the debug file contradicts the binary: by the entry, by where a section is and how
// long it is, by a function's symbol, or by where the unwind table says that functions begin.
// Returns nullopt if nothing does, which proves nothing where functions of one size were exchanged.
std::optional<std::string> contradiction(Elf* binary, Elf* debug);

}  // namespace causalctl::unwind

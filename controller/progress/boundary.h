// Decides whether an address is the first byte of an instruction. A breakpoint on another byte
// would never be hit, and a uprobe there would destroy the target's code. So an address that cannot
// be proven is refused.
//
// x86 code can only be decoded forwards from a known boundary. Known are a function's entry and the
// places where the unwind table (.eh_frame) changes its rules; decoding starts at the nearest one
// before the address. The code is read from the mapped file, where no uprobe of another tool has
// put an int3 over an instruction. It is read from memory if the file cannot be read.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::progress {

// Throws UsageError, which names the nearest boundaries, unless `address` is one. `what` names the
// point in the message. REQUIRES: `address` is in an executable mapping of a file.
void require_boundary(const std::string& what, Pid target, Address address,
                      unwind::Symbolizer& symbolizer);

inline constexpr std::size_t kLongestInstruction = 15;

// Returns what can be read of `size` bytes of a file.
std::vector<std::byte> read_some(const std::string& path, std::uint64_t offset, std::size_t size);

// The same of the target's memory.
std::vector<std::byte> read_memory(Pid target, Address start, std::size_t size);

// Returns the code from `start` to the end of the instruction that contains `address`, and perhaps
// more. Bytes that neither the file nor the memory has are missing.
std::vector<std::byte> read_code(Pid target, Address start, Address address);

// Returns "binary+0xOFFSET", as a SPEC would name the link-time address, or "0xADDRESS".
std::string name_by_offset(Pid target, Address address);

// Returns where the unwind rules in force at the address begin, which is an instruction boundary,
// or nullopt if no rule covers it. Both addresses are link-time.
std::optional<Address> unwind_row_start(Elf* elf, Address link_address);

}  // namespace causalctl::progress

// An entry of .eh_frame: the instructions that tell, for each address of one function, how the
// frame of its caller is found. Source: LSB core, "Exception Frames"; DWARF 5, section 6.4.1. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "controller/base/types.h"
#include "unwind/tables/range_map.h"

namespace causalctl::unwind {

// A frame description entry (FDE) with what its common information entry (CIE) says. Addresses are
// those of link time; the spans are parts of the file.
struct FrameEntry {
  Address low = 0;
  Address high = 0;                    // one beyond the end
  std::span<const std::byte> initial;  // instructions of the CIE, which are executed first
  std::span<const std::byte> instructions;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint64_t return_address = 0;  // DWARF's number of the register
  bool signal = false;               // the frame of a signal handler's caller
};

// Bytes of a file in which entries refer to each other.
struct FrameBytes {
  std::span<const std::byte> bytes;
  Address address = 0;  // of the first byte at link time
};

// Returns the FDE at an offset into the bytes, or nullopt if there is none, it is damaged, or its
// addresses are written in a way that x86-64 files do not use.
std::optional<FrameEntry> frame_entry_at(const FrameBytes& frames, std::uint64_t offset);

// Returns the offset of the FDE of each range of addresses that a section describes.
RangeMap<std::uint64_t> frame_entries(const FrameBytes& section);

}  // namespace causalctl::unwind

// Finds where functions begin and end in a file without symbols. Pure.
//
// Each function has a frame description entry (FDE) with its start and length; .eh_frame_hdr lists
// them. Source: LSB core, "Exception Frames". Code that was built without them begins a function
// where a direct call leads, which lasts until the next one begins; one that is called only by
// pointers counts as part of the one before.
#pragma once

#include <optional>

#include "unwind/tables/elf_image.h"
#include "unwind/tables/frame_entry.h"
#include "unwind/tables/range_map.h"

namespace causalctl::unwind {

struct NoValue {};

// Returns link-time ranges, or none if the file tells of no function.
RangeMap<NoValue> function_bounds(const ElfImage& image);

// The same by the unwind table alone.
RangeMap<NoValue> described_functions(const ElfImage& image);

struct FunctionBounds {
  Address low = 0;
  Address high = 0;
  bool operator==(const FunctionBounds&) const = default;
};
// Returns the last entry that begins at or before the address, without reading the others; it may
// end before the address.
std::optional<FrameEntry> described_entry(const ElfImage& image, const UnwindTable& table,
                                          Address address);

// Returns the function that the unwind table describes at the address, without reading the others.
std::optional<FunctionBounds> described_function(const ElfImage& image, const UnwindTable& table,
                                                 Address address);

}  // namespace causalctl::unwind

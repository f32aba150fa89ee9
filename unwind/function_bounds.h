// Finds where functions begin and end in a file without symbols, by its unwind table. Pure.
//
// Each function has a frame description entry (FDE) with its start and length; .eh_frame_hdr lists
// them. Source: LSB core, "Exception Frames".
#pragma once

#include "unwind/elf_image.h"
#include "unwind/range_map.h"

namespace causalctl::unwind {

struct NoValue {};

// Returns link-time ranges, or none if the file has no usable table.
RangeMap<NoValue> function_bounds(const ElfImage& image);

}  // namespace causalctl::unwind

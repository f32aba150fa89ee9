// Executes the instructions of an entry of .eh_frame up to an address: the row of the unwind table
// there. Source: DWARF 5, section 6.4.2 (instructions) and 6.4.3 (how a row is found). Pure.
//
// Only the CFA, RBP and the return address are kept, so what an entry costs does not depend on the
// registers that it names.
#pragma once

#include <optional>

#include "controller/base/types.h"
#include "unwind/tables/frame_entry.h"
#include "unwind/tables/frame_rule.h"

namespace causalctl::unwind {

struct FrameRow {
  Address low = 0;
  Address high = 0;  // one beyond the end
  FrameRule rule;
};

// Returns nullopt if the entry does not cover the address, or is damaged before the row is
// complete.
std::optional<FrameRow> frame_row(const FrameEntry& entry, Address address);

}  // namespace causalctl::unwind

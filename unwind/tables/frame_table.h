// The unwind table of one file (.eh_frame) as rules that take nanoseconds to apply.
//
// A row is evaluated when it is first asked for, and kept, so that the table of a big file costs
// nothing but what samples meet of it. All addresses are those of link time: copies of one file,
// and one that is unloaded and loaded again, share the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "controller/base/types.h"
#include "unwind/tables/elf_image.h"
#include "unwind/tables/frame_entry.h"
#include "unwind/tables/frame_row.h"
#include "unwind/tables/frame_rule.h"

namespace causalctl::unwind {

class FrameTable {
 public:
  FrameTable() = default;
  explicit FrameTable(ElfImage image);  // its file is borrowed

  // Returns nullopt if no entry of the table covers the address, or that entry is damaged.
  std::optional<FrameRule> rule_at(Address address);
  std::size_t rows() const { return rows_.size(); }  // that were met

 private:
  std::optional<FrameEntry> entry_of(Address address) const;

  ElfImage image_;
  std::optional<UnwindTable> search_;
  // Where the file has no search table: .eh_frame, and its entries by address.
  FrameBytes section_;
  RangeMap<std::uint64_t> entries_;
  std::map<Address, FrameRow> rows_;  // by where they begin
};

}  // namespace causalctl::unwind

// The unwind table of one file (.eh_frame) as rules that take nanoseconds to apply.
//
// libdw finds and evaluates the row for an address. A row is kept once it was asked for, so that
// the table of a big file costs nothing but what samples meet of it. All addresses are those of
// link time: copies of one file, and one that is unloaded and loaded again, share the table.
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "controller/base/types.h"
#include "unwind/frame_rule.h"

namespace causalctl::unwind {

class FrameTable {
 public:
  FrameTable() = default;
  explicit FrameTable(std::span<const std::byte> file);  // borrowed

  // Returns nullopt if no entry of the table covers the address.
  std::optional<FrameRule> rule_at(Address address);
  std::size_t rows() const { return rows_.size(); }  // that were met

 private:
  struct Row {
    Address end = 0;
    FrameRule rule;
  };
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  struct EndTable {
    void operator()(Dwarf_CFI* table) const { dwarf_cfi_end(table); }
  };

  std::unique_ptr<Elf, EndElf> elf_;
  std::unique_ptr<Dwarf_CFI, EndTable> table_;
  std::map<Address, Row> rows_;  // by the lowest address at which they were met
};

}  // namespace causalctl::unwind

// The rows of a file's unwind table by libdw, which ours are compared with.
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "controller/base/types.h"
#include "unwind/tables/frame_row.h"

namespace causalctl::unwind {

class LibdwRules {
 public:
  explicit LibdwRules(std::span<const std::byte> file);  // borrowed
  // Where the row at the address begins is not always what libdw says, so `low` is the address.
  std::optional<FrameRow> row_at(Address address);

 private:
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  struct EndTable {
    void operator()(Dwarf_CFI* table) const { dwarf_cfi_end(table); }
  };
  std::unique_ptr<Elf, EndElf> elf_;
  std::unique_ptr<Dwarf_CFI, EndTable> table_;
};

}  // namespace causalctl::unwind

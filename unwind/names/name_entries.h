// Tells mentions of a function's name in .debug_info (name_search.h) from bytes that only look like
// one. Source: DWARF 5, §7.5.3 (abbreviations) and §7.5.5 (sizes of forms).
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace causalctl::unwind {

// The entries of one unit that name functions which may have been inlined, by an offset in
// .debug_str.
class NameEntries {
 public:
  // Reads the unit's table of abbreviations. `info_size` is that of .debug_info.
  NameEntries(Dwarf_Die& unit, std::size_t info_size);

  // Returns whether an entry can begin before the offset in .debug_info, which is within the unit,
  // whose name would stand there. With `referred_to`, the unit must also refer to that entry, as it
  // does to the origin of a copy. True as well where this cannot be told.
  bool may_name(Dwarf_Off mention, bool referred_to) const;

 private:
  bool read_abbreviations(Dwarf_Die& unit);
  bool names_at(const std::uint8_t* entry, const std::uint8_t* mention) const;
  bool is_referred_to(const std::uint8_t* entry) const;

  std::unordered_map<std::uint64_t, std::vector<unsigned>> before_;  // forms before the name
  const std::uint8_t* header_ = nullptr;                             // of the unit
  const std::uint8_t* begin_ = nullptr;                              // of the unit's first entry
  const std::uint8_t* end_ = nullptr;                                // of the unit
  Dwarf_Off begin_offset_ = 0;
  std::uint8_t address_size_ = 8;
  std::uint8_t offset_size_ = 4;
  bool readable_ = false;
  bool refers_by_offset_ = true;  // in the unit, in four bytes
};

}  // namespace causalctl::unwind

// Finds where debug information mentions a name, without reading its entries, which takes seconds
// for a large program.
//
// A name is text in .debug_info, or in .debug_str, where it stands once however often it is used.
// Then its offset stands in .debug_info or, from DWARF 5 on, in .debug_str_offsets. Bytes that only
// look like it are found, too. Source: DWARF 5, §7.5.5 and §7.26.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causalctl::unwind {

struct Mentions {
  // Offsets in .debug_info, ascending.
  std::vector<Dwarf_Off> in_info;     // of offsets of the name in .debug_str
  std::vector<Dwarf_Off> as_text;     // of the name itself
  std::vector<Dwarf_Off> in_offsets;  // offsets in .debug_str_offsets, ascending
  std::size_t info_size = 0;          // of .debug_info
};

// Looks for names that are `name`, or begin with it and have template arguments, or end with it
// after a '.', as in Go. Returns nullopt if this cannot tell: names may be in a supplementary file,
// or too many begin with `name`.
std::optional<Mentions> find_mentions(Dwarf* dwarf, std::string_view name);

// Returns where in .debug_info an entry of another unit may be referred to, ascending.
std::vector<Dwarf_Off> find_references(Dwarf* dwarf, Dwarf_Off entry);

// Returns the names of source files in .debug_line_str, some of which may have no code; none if
// there is no such section, as before DWARF 5.
std::vector<std::string> source_names(Dwarf* dwarf);

// The line tables of a file, in which the names of source files are looked for.
class LineTables {
 public:
  // `file` is the last component of a path.
  LineTables(Dwarf* dwarf, std::string_view file);
  // Returns whether the table at the offset, that of a unit's DW_AT_stmt_list, may have the file.
  bool may_have(Dwarf_Off offset) const;

 private:
  std::string_view tables_;
  std::string_view file_;
  std::vector<std::uint32_t> texts_;  // offsets of the name in .debug_line_str
};

}  // namespace causalctl::unwind

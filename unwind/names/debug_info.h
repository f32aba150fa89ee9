// The DWARF of one module, which leads from an address to its line and inline chain, and from a
// line to its addresses.
//
// Compilation units are found by the ranges in their own DIEs, not by .debug_aranges, which clang
// leaves out. A unit's functions are indexed when one of its addresses is first asked for. The
// inline chain is found by descending from the function. DWARF 4 and 5 are read, split units
// included. Addresses here are runtime addresses. Source: DWARF 5, §2.17, §3.1.1, §3.3.8, §6.2.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/base/types.h"
#include "unwind/names/dies.h"
#include "unwind/names/symbolizer.h"
#include "unwind/tables/range_map.h"

namespace causalctl::unwind {

struct LineMatch {
  Address address = 0;
  std::string file;
  std::vector<Address> returns = {};  // as of a Place
};

class DebugInfo {
 public:
  // `dwarf` is borrowed; nullptr if there is no debug information. Runtime address = its address +
  // bias.
  DebugInfo(Dwarf* dwarf, Address bias);

  bool has_lines() const { return has_lines_; }
  bool describes(Address address) const { return units_by_address_.find(address) != nullptr; }

  // Returns frames, innermost first, or none if no unit covers the address. Names may be empty.
  std::vector<Frame> frames(Address address);

  // Returns where a statement of the line begins: one address for each function, for each inlined
  // copy of one, and for each copy of the statement that the compiler made within it, if it marks
  // them.
  std::vector<LineMatch> find_line(const std::string& file, int line);
  // Returns lines with code in files that match, nearest to `line` first.
  std::vector<std::string> near_lines(const std::string& file, int line, std::size_t count);
  std::vector<std::string> files();  // returns those with code
  // Returns more, but without reading all line tables where DWARF 5 lists the names.
  std::vector<std::string> files_mentioned();

  // Returns at most `count` lines ("file:line") into which the function is inlined somewhere.
  std::vector<std::string> inlined_at(const std::string& name, std::size_t count);

  std::string declaration(Address entry);  // of the function, as "/src/f.c:12"; empty if unknown
  // Returns what two functions differ in that are declared in different source files of one path; 0
  // of a function of a header.
  std::uint64_t own_unit(Address entry);
  // The same of the function that the line at the address belongs to.
  std::uint64_t own_unit(Address address, const std::string& file, int line);

  // Returns where calls of the function, which the user has written so, are inlined in this module.
  // Address 0: of one that has no code of its own. Stops looking at `until_ns` (CLOCK_MONOTONIC),
  // and says so.
  InlinedCalls inlined_calls(const Place& wanted, const std::string& written, Nanoseconds until_ns);
  // Returns the .dwo file of the unit at the address that could not be read, or of any unit.
  std::optional<MissingDwo> missing_dwo(Address address);
  std::optional<MissingDwo> any_missing_dwo();

 private:
  struct Function {
    Dwarf_Die die;
    Address entry = 0;
  };
  struct Unit {
    Dwarf_Die lines;          // the unit in this file, with ranges and line table
    Dwarf_Die tree;           // its DIEs: the same unit, or the one in the .dwo file
    bool is_missing = false;  // true if its .dwo file was not found
    bool indexed = false;
    std::vector<Function> functions;
    RangeMap<std::size_t> by_address;
  };
  struct Source {
    std::string file;  // empty if there is none
    int line = 0;
    int column = 0;
  };
  using Ranges = std::vector<RangeMap<std::size_t>::Range>;

  void index_units();
  // Returns those that may hold code of inlined calls of functions with this simple name.
  std::vector<Unit*> units_that_mention(const std::string& name);
  // Returns those that refer to functions of other units.
  const std::vector<Unit*>& borrowing_units();
  bool tells_of_copies(const Unit& unit, const Place& function);
  // Returns those whose line table may have the source file: for others none is read.
  std::vector<Unit*> units_with_file(const std::string& path);
  Unit* unit_at(Address address);
  void index_functions(Unit& unit);
  void collect_functions(Dwarf_Die& parent, Unit& unit, Ranges& ranges, DieWalk& walk, int depth);
  const Function* function_at(Unit& unit, Address address);
  std::vector<Dwarf_Die> inline_chain(const Function& function, Address address) const;
  Source source_at(Unit& unit, Address address);
  Source call_site(Unit& unit, Dwarf_Die& inlined);
  // Returns the file that a function is declared in; `otherwise` if the compiler does not say.
  std::string home_of(Unit& unit, Dwarf_Die& function, const std::string& otherwise);
  const std::string& file_name(const char* text, Unit& unit);
  Address innermost_scope(Unit& unit, Address address, const Source* caller = nullptr);
  bool called_from(Unit& unit, Address address, const std::string& file, int line);
  void find_line_in_unit(Unit& unit, const std::string& file, int line,
                         std::vector<LineMatch>& matches);

  struct InlinedCopy {
    Unit* unit = nullptr;
    Dwarf_Die die;
  };
  class CopySearch;
  std::vector<std::string> call_sites(const std::vector<InlinedCopy>& copies);
  std::string line_of_all(Unit* own, const Function* function,
                          const std::vector<InlinedCopy>& copies);
  bool once_in_each(const Source& source, Unit* own, const Function* function,
                    const std::vector<InlinedCopy>& copies);
  std::size_t count_beginnings(Unit& unit, const Source& source);
  // Returns whether the unit's compiler marks the beginning of each statement (line_search.cc).
  static bool marks_copies(Unit& unit);
  Source first_line(Unit& unit, Dwarf_Die& scope);
  MissingDwo describe_missing(Unit& unit);

  Dwarf* dwarf_;
  Address bias_;
  bool has_lines_ = false;
  std::vector<Unit> units_;
  std::vector<Dwarf_Die> partial_units_;  // without code; others take functions from them
  std::optional<std::vector<Unit*>> borrowing_units_;
  RangeMap<std::size_t> units_by_address_;
  std::unordered_map<const char*, std::string> file_names_;  // the key is the string owned by libdw
};

}  // namespace causalctl::unwind

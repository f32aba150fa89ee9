#include "unwind/names/debug_info.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/paths.h"
#include "unwind/names/dies.h"

namespace causalctl::unwind {
namespace {
constexpr std::size_t kMostRangesOfUnit = 1'000'000;  // a file with more is damaged
}

DebugInfo::DebugInfo(Dwarf* dwarf, Address bias) : dwarf_(dwarf), bias_(bias) {
  if (dwarf_ != nullptr) index_units();
}

void DebugInfo::index_units() {
  Ranges ranges;
  Dwarf_CU* last = nullptr;
  Dwarf_CU* cu = nullptr;
  Dwarf_Half version = 0;
  std::uint8_t type = 0;
  Unit unit{};
  Dwarf_Die split{};
  while (dwarf_get_units(dwarf_, last, &cu, &version, &type, &unit.lines, &split) == 0) {
    last = cu;
    if (type == DW_UT_partial) partial_units_.push_back(unit.lines);
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    const bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit;
    unit.tree = is_split ? split : unit.lines;
    unit.is_missing = type == DW_UT_skeleton && !is_split;
    has_lines_ = has_lines_ || dwarf_hasattr(&unit.lines, DW_AT_stmt_list) != 0;
    for (const auto& [low, high] : die_ranges(unit.lines)) {
      ranges.push_back({low + bias_, high + bias_, units_.size()});
    }
    units_.push_back(unit);
  }
  units_by_address_ = RangeMap<std::size_t>(std::move(ranges));
}

DebugInfo::Unit* DebugInfo::unit_at(Address address) {
  const auto* range = units_by_address_.find(address);
  return range != nullptr ? &units_[range->value] : nullptr;
}

void DebugInfo::index_functions(Unit& unit) {
  if (unit.indexed) return;
  unit.indexed = true;
  Ranges ranges;
  DieWalk walk;
  collect_functions(unit.tree, unit, ranges, walk, 0);
  unit.by_address = RangeMap<std::size_t>(std::move(ranges));
}

void DebugInfo::collect_functions(Dwarf_Die& parent, Unit& unit, Ranges& ranges, DieWalk& walk,
                                  int depth) {
  if (depth > kDeepestDie || ranges.size() > kMostRangesOfUnit) return;
  walk.for_each_child(parent, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram: {
        const auto covered = die_ranges(child);
        if (covered.empty()) break;  // a declaration, or the abstract copy of an inlined function
        Dwarf_Addr entry = covered.front().first;
        dwarf_entrypc(&child, &entry);
        for (const auto& [low, high] : covered) {
          ranges.push_back({low + bias_, high + bias_, unit.functions.size()});
        }
        unit.functions.push_back({child, entry + bias_});
        collect_functions(child, unit, ranges, walk, depth + 1);  // nested functions, local classes
        break;
      }
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_lexical_block:
        collect_functions(child, unit, ranges, walk, depth + 1);
        break;
      default:
        break;
    }
    return true;
  });
}

const DebugInfo::Function* DebugInfo::function_at(Unit& unit, Address address) {
  index_functions(unit);
  const auto* range = unit.by_address.find(address);
  return range != nullptr ? &unit.functions[range->value] : nullptr;
}

// Returns the inlined calls that contain the address, outermost first.
std::vector<Dwarf_Die> DebugInfo::inline_chain(const Function& function, Address address) const {
  const Address pc = address - bias_;
  std::vector<Dwarf_Die> chain;
  Dwarf_Die scope = function.die;
  DieWalk walk;
  // Goes depth first, also through blocks that have no addresses of their own (gcc writes such
  // blocks).
  const auto descend = [&](auto& self, Dwarf_Die& parent, int depth) -> bool {
    if (depth > kDeepestDie) return false;
    bool found = false;
    walk.for_each_child(parent, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_inlined_subroutine && die_covers(child, pc)) {
        chain.push_back(child);
        self(self, child, depth + 1);
        found = true;
      } else if (tag == DW_TAG_lexical_block && (!die_has_code(child) || die_covers(child, pc))) {
        found = self(self, child, depth + 1);
      }
      return !found;
    });
    return found;
  };
  descend(descend, scope, 0);
  return chain;
}

const std::string& DebugInfo::file_name(const char* text, Unit& unit) {
  const auto known = file_names_.find(text);
  if (known != file_names_.end()) return known->second;
  const char* directory = die_string(unit.lines, DW_AT_comp_dir);
  return file_names_.emplace(text, normal_path(text, directory != nullptr ? directory : ""))
      .first->second;
}

DebugInfo::Source DebugInfo::source_at(Unit& unit, Address address) {
  Dwarf_Line* line = dwarf_getsrc_die(&unit.lines, address - bias_);
  int number = 0;
  // Line 0 stands for code that the compiler charges to no line.
  if (line == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return {};
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  if (file == nullptr) return {};
  int column = 0;
  dwarf_linecol(line, &column);
  return {file_name(file, unit), number, column};
}

DebugInfo::Source DebugInfo::call_site(Unit& unit, Dwarf_Die& inlined) {
  const auto line = die_number(inlined, DW_AT_call_line);
  const auto index = die_number(inlined, DW_AT_call_file);
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (!line || *line <= 0 || !index || dwarf_getsrcfiles(&unit.tree, &files, &count) != 0) {
    return {};
  }
  if (static_cast<std::size_t>(*index) >= count) return {};
  const char* file = dwarf_filesrc(files, static_cast<std::size_t>(*index), nullptr, nullptr);
  if (file == nullptr) return {};
  return {file_name(file, unit), *line};
}

std::string DebugInfo::home_of(Unit& unit, Dwarf_Die& function, const std::string& otherwise) {
  const char* file = die_declared_file(function);
  return file != nullptr ? file_name(file, unit) : otherwise;
}

std::string DebugInfo::declaration(Address entry) {
  Unit* unit = unit_at(entry);
  const Function* function = unit != nullptr ? function_at(*unit, entry) : nullptr;
  if (function == nullptr || function->entry != entry) return {};
  Dwarf_Die die = function->die;
  int line = 0;
  const char* file = die_declared_file(die);
  if (file == nullptr || dwarf_decl_line(&die, &line) != 0 || line <= 0) return {};
  return fmt::format("{}:{}", file_name(file, *unit), line);
}

std::uint64_t DebugInfo::own_unit(Address entry) {
  Unit* unit = unit_at(entry);
  const Function* function = unit != nullptr ? function_at(*unit, entry) : nullptr;
  if (function == nullptr || function->entry != entry) return 0;
  Dwarf_Die die = function->die;
  return die_own_unit(die);
}

std::uint64_t DebugInfo::own_unit(Address address, const std::string& file, int line) {
  Unit* unit = unit_at(address);
  const Function* function = unit != nullptr ? function_at(*unit, address) : nullptr;
  if (function == nullptr) return 0;
  std::vector<Dwarf_Die> scopes = inline_chain(*function, address);
  scopes.insert(scopes.begin(), function->die);
  for (Source source = source_at(*unit, address); !scopes.empty(); scopes.pop_back()) {
    if (source.line == line && source.file == file) return die_own_unit(scopes.back());
    source = call_site(*unit, scopes.back());
  }
  return 0;
}

std::vector<Frame> DebugInfo::frames(Address address) {
  Unit* unit = unit_at(address);
  if (unit == nullptr) return {};
  const Function* function = function_at(*unit, address);
  Source source = source_at(*unit, address);
  std::vector<Frame> frames;
  if (function == nullptr) {
    if (!source.file.empty()) frames.push_back({"", source.file, source.line, 0, source.column});
    return frames;
  }
  std::vector<Dwarf_Die> chain = inline_chain(*function, address);
  for (auto inlined = chain.rbegin(); inlined != chain.rend(); ++inlined) {
    Dwarf_Addr entry = 0;
    if (dwarf_entrypc(&*inlined, &entry) != 0 || entry == 0) {
      const auto ranges = die_ranges(*inlined);
      entry = ranges.empty() ? 0 : ranges.front().first;
    }
    frames.push_back({die_function_name(*inlined), source.file, source.line,
                      entry != 0 ? entry + bias_ : 0, source.column,
                      home_of(*unit, *inlined, source.file)});
    source = call_site(*unit, *inlined);
  }
  Dwarf_Die die = function->die;
  frames.push_back({die_function_name(die), source.file, source.line, function->entry,
                    source.column, home_of(*unit, die, source.file)});
  return frames;
}

}  // namespace causalctl::unwind

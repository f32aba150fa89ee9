// Finds the units of DebugInfo in which calls of a function can have been replaced by its body. To
// read all units takes seconds for a large program.
#include <dwarf.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "unwind/debug_info.h"
#include "unwind/function_name.h"
#include "unwind/name_search.h"
#include "unwind/names.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostOrigins = 4;  // each takes a search through .debug_info

std::optional<Dwarf_Off> offsets_base(Dwarf_Die& unit) {
  Dwarf_Attribute value;
  Dwarf_Word base = 0;
  if (dwarf_formudata(dwarf_attr(&unit, DW_AT_str_offsets_base, &value), &base) != 0) {
    return std::nullopt;
  }
  return base;
}

// Collects the offsets of the functions with this simple name.
void collect_origins(Dwarf_Die& parent, std::string_view name, std::vector<Dwarf_Off>& found,
                     DieWalk& walk, int depth) {
  if (depth > kDeepestDie) return;
  walk.for_each_child(parent, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      const char* text = dwarf_diename(&child);
      if (text != nullptr && simple_name(text) == name) found.push_back(dwarf_dieoffset(&child));
    } else if (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_module ||
               tag == DW_TAG_structure_type) {
      collect_origins(child, name, found, walk, depth + 1);
    }
    return true;
  });
}

}  // namespace

std::vector<DebugInfo::Unit*> DebugInfo::units_that_mention(const std::string& name) {
  std::vector<Unit*> all;
  for (Unit& unit : units_) all.push_back(&unit);
  const auto mentions = dwarf_ != nullptr ? find_mentions(dwarf_, name) : std::nullopt;
  if (!mentions) return all;

  std::set<Unit*> found;
  std::vector<std::pair<Dwarf_Off, Unit*>> by_offset;
  std::vector<std::pair<Dwarf_Off, Unit*>> by_base;  // in .debug_str_offsets
  for (Unit* unit : all) {
    by_offset.emplace_back(dwarf_dieoffset(&unit->lines), unit);
    if (const auto base = offsets_base(unit->lines)) by_base.emplace_back(*base, unit);
    if (unit->tree.addr != unit->lines.addr) found.insert(unit);  // its names are in another file
  }
  std::sort(by_base.begin(), by_base.end());
  const auto take = [&](const std::vector<Dwarf_Off>& offsets, const auto& units) {
    for (const Dwarf_Off offset : offsets) {
      const auto after =
          std::upper_bound(units.begin(), units.end(), offset,
                           [](Dwarf_Off one, const auto& unit) { return one < unit.first; });
      if (after != units.begin()) found.insert(std::prev(after)->second);
    }
  };
  take(mentions->in_info, by_offset);
  take(mentions->in_offsets, by_base);

  // Link-time optimisation puts the code of a unit into another one, which refers to its functions.
  std::vector<Dwarf_Off> origins;
  for (Unit* unit : found) {
    if (!die_ranges(unit->lines).empty()) continue;
    DieWalk walk;
    collect_origins(unit->tree, name, origins, walk, 0);
  }
  if (origins.size() > kMostOrigins) return all;
  for (const Dwarf_Off origin : origins) take(find_references(dwarf_, origin), by_offset);
  return {found.begin(), found.end()};
}

std::vector<DebugInfo::Unit*> DebugInfo::units_with_file(const std::string& path) {
  std::vector<Unit*> found;
  if (dwarf_ == nullptr) return found;
  const std::string file(base_name(path));
  const LineTables tables(dwarf_, file);
  for (Unit& unit : units_) {
    Dwarf_Attribute value;
    Dwarf_Word offset = 0;
    const bool has_table =
        dwarf_formudata(dwarf_attr(&unit.lines, DW_AT_stmt_list, &value), &offset) == 0;
    if (has_table && tables.may_have(offset)) found.push_back(&unit);
  }
  return found;
}

std::vector<std::string> DebugInfo::files_mentioned() {
  auto names = dwarf_ != nullptr ? source_names(dwarf_) : std::vector<std::string>();
  return names.empty() ? files() : names;
}

}  // namespace causalctl::unwind

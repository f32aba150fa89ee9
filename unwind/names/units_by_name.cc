// Finds the units of DebugInfo in which calls of a function can have been replaced by its body. To
// read all units takes seconds for a large program.
#include <dwarf.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "controller/base/base_name.h"
#include "unwind/names/debug_info.h"
#include "unwind/names/demangle.h"
#include "unwind/names/function_name.h"
#include "unwind/names/name_entries.h"
#include "unwind/names/name_search.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostOrigins = 4;  // each takes a search through .debug_info
constexpr int kMostSearches = 1000;      // through a unit each, of those that may name a function

std::optional<Dwarf_Off> offsets_base(Dwarf_Die& unit) {
  Dwarf_Attribute value;
  Dwarf_Word base = 0;
  if (dwarf_formudata(dwarf_attr(&unit, DW_AT_str_offsets_base, &value), &base) != 0) {
    return std::nullopt;
  }
  return base;
}

// Returns whether the unit has functions, or copies of them, that another unit or file describes.
bool refers_to_other_units(Dwarf_Die& unit) {
  bool refers = false;
  for_each_abbreviation(unit, [&](Dwarf_Abbrev* abbreviation) {
    const unsigned tag = dwarf_getabbrevtag(abbreviation);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) return true;
    const auto form = origin_form(abbreviation);
    refers = form == DW_FORM_ref_addr || form == DW_FORM_GNU_ref_alt;
    return !refers;
  });
  return refers;
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

// Link-time optimisation puts the code of a unit into another one, which refers to its functions;
// dwz moves what several units describe into partial units.
const std::vector<DebugInfo::Unit*>& DebugInfo::borrowing_units() {
  if (borrowing_units_) return *borrowing_units_;
  borrowing_units_.emplace();
  std::map<Dwarf_Off, bool> borrow;  // by the table of abbreviations, which units may share
  for (Unit& unit : units_) {
    Dwarf_Die root;
    Dwarf_Off table = 0;
    if (dwarf_cu_die(unit.lines.cu, &root, nullptr, &table, nullptr, nullptr, nullptr, nullptr) ==
        nullptr) {
      continue;
    }
    const auto [known, is_new] = borrow.try_emplace(table, false);
    if (is_new) known->second = refers_to_other_units(root);
    if (known->second) borrowing_units_->push_back(&unit);
  }
  return *borrowing_units_;
}

std::vector<DebugInfo::Unit*> DebugInfo::units_that_mention(const std::string& name) {
  std::vector<Unit*> all;
  for (Unit& unit : units_) all.push_back(&unit);
  const auto mentions = dwarf_ != nullptr ? find_mentions(dwarf_, name) : std::nullopt;
  if (!mentions) return all;

  struct Named {
    Dwarf_Off begin = 0;
    Dwarf_Die die;
    Unit* unit = nullptr;  // nullptr if it is a partial one
  };
  std::vector<Named> named;
  std::set<Unit*> found;
  for (Unit* unit : all) {
    named.push_back({dwarf_dieoffset(&unit->lines), unit->lines, unit});
    if (unit->tree.addr != unit->lines.addr) found.insert(unit);  // its names are in another file
  }
  for (Dwarf_Die& each : partial_units_) named.push_back({dwarf_dieoffset(&each), each, nullptr});
  const auto by_begin = [](const Named& a, const Named& b) { return a.begin < b.begin; };
  std::sort(named.begin(), named.end(), by_begin);
  std::vector<Named> by_base;  // in .debug_str_offsets
  for (Named& each : named) {
    if (const auto base = offsets_base(each.die)) by_base.push_back({*base, each.die, each.unit});
  }
  std::sort(by_base.begin(), by_base.end(), by_begin);

  std::vector<Named> queue;  // whose functions others may refer to
  std::set<void*> seen;
  std::map<void*, NameEntries> entries;  // by unit
  int searches = 0;
  const auto can_name = [&](Named& unit, Dwarf_Off offset) {
    if (seen.contains(unit.die.addr)) return true;
    const bool referred_to = searches < kMostSearches && borrowing_units().empty();
    if (referred_to) ++searches;
    const auto known = entries.try_emplace(unit.die.addr, unit.die, mentions->info_size).first;
    return known->second.may_name(offset, referred_to);
  };
  const auto take = [&](const std::vector<Dwarf_Off>& offsets, std::vector<Named>& units,
                        bool are_names = false) {
    for (const Dwarf_Off offset : offsets) {
      const auto after =
          std::upper_bound(units.begin(), units.end(), Named{offset, {}, nullptr}, by_begin);
      if (after == units.begin() || (are_names && !can_name(*std::prev(after), offset))) continue;
      // Units that were optimised together share their offsets of strings.
      for (auto unit = std::prev(after);; --unit) {
        if (unit->unit != nullptr) found.insert(unit->unit);
        if (seen.insert(unit->die.addr).second) queue.push_back(*unit);
        if (unit == units.begin() || std::prev(unit)->begin != unit->begin) break;
      }
    }
  };
  take(mentions->in_info, named, true);
  take(mentions->as_text, named);
  take(mentions->in_offsets, by_base);

  const std::vector<Unit*>& borrowing = borrowing_units();
  std::set<Dwarf_Off> known;
  while (!borrowing.empty() && !queue.empty()) {
    Named unit = queue.back();
    queue.pop_back();
    std::vector<Dwarf_Off> origins;
    DieWalk walk;
    collect_origins(unit.die, name, origins, walk, 0);
    for (const Dwarf_Off origin : origins) {
      if (known.size() >= kMostOrigins) {
        found.insert(borrowing.begin(), borrowing.end());
        return {found.begin(), found.end()};
      }
      if (known.insert(origin).second) take(find_references(dwarf_, origin), named);
    }
  }
  return {found.begin(), found.end()};
}

// Returns whether the unit's compiler writes down which calls it has inlined. OCaml's has the
// assembler write lines only, and clang -gline-directives-only leaves out all functions.
bool DebugInfo::tells_of_copies(const Unit& unit, const Place& function) {
  Dwarf_Die root = unit.tree;
  if (dwarf_srclang(&root) == DW_LANG_Mips_Assembler) return !is_caml(function.symbol);
  return std::any_of(units_.begin(), units_.end(), [](Unit& each) {
    Dwarf_Die tree = each.tree;
    return dwarf_haschildren(&tree) > 0;
  });
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

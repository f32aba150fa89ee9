// DebugInfo's way from source lines to addresses.
//
// A line is many rows of the line table: a loop's line has its start, its condition and its step;
// an inlined function has rows wherever it was inlined. What counts as one place is one function
// or one inlined copy of it (its innermost scope in the DIE tree), at the lowest address where a
// statement of the line begins there. Rows without bytes (the next row has the same address) only
// serve where there is none with bytes.
#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "unwind/debug_info.h"
#include "unwind/dies.h"
#include "unwind/names.h"

namespace causalctl::unwind {
namespace {

struct Row {
  Dwarf_Addr address = 0;
  int line = 0;
  const char* file = nullptr;
  bool begins_statement = false;
  bool has_bytes = false;
};

// Calls visit(row) for each row of the unit's line table that stands for code.
template <typename Visit>
void for_each_row(Dwarf_Die& unit, Visit visit) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    Row row;
    bool end = false;
    if (dwarf_lineendsequence(line, &end) != 0 || end) continue;
    if (dwarf_lineno(line, &row.line) != 0 || row.line <= 0) continue;
    if (dwarf_lineaddr(line, &row.address) != 0 || row.address == 0) continue;
    dwarf_linebeginstatement(line, &row.begins_statement);
    row.file = dwarf_linesrc(line, nullptr, nullptr);
    if (row.file == nullptr) continue;
    Dwarf_Addr next = 0;
    row.has_bytes =
        dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &next) == 0 && next > row.address;
    visit(row);
  }
}

}  // namespace

// A number that is the same for all addresses of one function or inlined copy of one.
Address DebugInfo::innermost_scope(Unit& unit, Address address) {
  const Function* function = function_at(unit, address);
  if (function == nullptr) return 0;
  std::vector<Dwarf_Die> chain = inline_chain(*function, address);
  Dwarf_Die scope = chain.empty() ? function->die : chain.back();
  return dwarf_dieoffset(&scope);
}

void DebugInfo::find_line_in_unit(Unit& unit, const std::string& file, int line,
                                  std::vector<LineMatch>& matches) {
  struct Best {
    bool has_bytes = false;
    Address address = 0;
    std::string file;
  };
  std::map<std::pair<Address, std::string>, Best> best;  // by scope and file
  for_each_row(unit.lines, [&](const Row& row) {
    if (row.line != line || !row.begins_statement) return;
    const std::string& name = file_name(row.file, unit);
    if (!path_ends_with(name, file)) return;
    const Address address = row.address + bias_;
    Best& known = best[{innermost_scope(unit, address), name}];
    const bool better = known.address == 0 || (row.has_bytes && !known.has_bytes) ||
                        (row.has_bytes == known.has_bytes && address < known.address);
    if (better) known = {row.has_bytes, address, name};
  });
  for (const auto& [scope, found] : best) matches.push_back({found.address, found.file});
}

std::vector<LineMatch> DebugInfo::find_line(const std::string& file, int line) {
  std::vector<LineMatch> matches;
  for (Unit& unit : units_) find_line_in_unit(unit, file, line, matches);
  const auto by_address = [](const LineMatch& a, const LineMatch& b) {
    return std::pair(a.address, a.file) < std::pair(b.address, b.file);
  };
  const auto same = [](const LineMatch& a, const LineMatch& b) {
    return a.address == b.address && a.file == b.file;
  };
  std::sort(matches.begin(), matches.end(), by_address);
  matches.erase(std::unique(matches.begin(), matches.end(), same), matches.end());
  return matches;
}

std::vector<std::string> DebugInfo::near_lines(const std::string& file, int line,
                                               std::size_t count) {
  std::set<std::pair<std::string, int>> lines;
  for (Unit& unit : units_) {
    for_each_row(unit.lines, [&](const Row& row) {
      const std::string& name = file_name(row.file, unit);
      if (row.begins_statement && path_ends_with(name, file)) lines.emplace(name, row.line);
    });
  }
  std::vector<std::pair<std::string, int>> sorted(lines.begin(), lines.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return std::abs(a.second - line) < std::abs(b.second - line);
  });
  if (sorted.size() > count) sorted.resize(count);
  std::vector<std::string> texts;
  for (const auto& [name, number] : sorted) texts.push_back(fmt::format("{}:{}", name, number));
  return texts;
}

std::vector<std::string> DebugInfo::files() {
  std::set<std::string> names;
  for (Unit& unit : units_) {
    const char* last = nullptr;
    for_each_row(unit.lines, [&](const Row& row) {
      if (row.file != last) names.insert(file_name(row.file, unit));
      last = row.file;
    });
  }
  return {names.begin(), names.end()};
}

void DebugInfo::collect_inlined(Dwarf_Die& parent, Unit& unit, const std::string& name,
                                std::vector<std::string>& places, std::size_t count, int depth) {
  if (depth > kDeepestDie) return;
  for_each_child(parent, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_inlined_subroutine) {
      const char* short_name = dwarf_diename(&child);
      if (short_name != nullptr && plain_name(without_arguments(name)) == short_name) {
        const Source site = call_site(unit, child);
        std::string text = fmt::format("{}:{}", site.file, site.line);
        if (site.line > 0 && std::find(places.begin(), places.end(), text) == places.end()) {
          places.push_back(std::move(text));
        }
      }
    }
    if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram ||
        tag == DW_TAG_lexical_block || tag == DW_TAG_namespace) {
      collect_inlined(child, unit, name, places, count, depth + 1);
    }
    return places.size() < count;
  });
}

std::vector<std::string> DebugInfo::inlined_at(const std::string& name, std::size_t count) {
  std::vector<std::string> places;
  for (Unit& unit : units_) {
    if (places.size() < count) collect_inlined(unit.tree, unit, name, places, count, 0);
  }
  return places;
}

}  // namespace causalctl::unwind

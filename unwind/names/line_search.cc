// Finds the addresses of source lines in DebugInfo.
//
// A line has many rows in the line table: a loop's line has rows for its start, its condition and
// its step, and an inlined function has rows wherever it was inlined. One place is one function, or
// one inlined copy of it (its innermost scope in the DIE tree), at the lowest address where a
// statement of the line begins there. Rows without code of the line serve only if no row has code.
//
// Within a scope the compiler may have copied the statement (a loop unrolled or peeled, a branch
// threaded); every copy is a place. Copies can be told from the parts of one statement only if the
// compiler marks each statement's beginning once. gcc does since version 8 (-gstatement-frontiers,
// on by default with -O and -g): there a copy is another beginning of a statement of this line and
// column, after a statement of another line. All statements of a macro have the line and column of
// its use, and follow each other. Other compilers begin a statement wherever scheduling returned to
// a line, as gcc does for languages other than C and C++, and with -gno-statement-frontiers. There
// it is one place per scope, and the other beginnings are named as its returns
// (controller/progress/line_copies.h decides about them). LLVM begins a statement where the number
// of the line changes, so that a line of another file with the same number begins none: the row
// counts as a beginning (DwarfDebug::beginInstruction in LLVM's DwarfDebug.cpp).
#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "controller/base/paths.h"
#include "unwind/names/debug_info.h"
#include "unwind/names/dies.h"

namespace causalctl::unwind {
namespace {

struct Row {
  Dwarf_Addr address = 0;
  int line = 0;
  int column = 0;
  const char* file = nullptr;
  bool begins_statement = false;
  bool changes_file = false;  // though not the line's number
  bool has_code = false;      // true if the instruction at the address belongs to this line
};

// Of several rows with one address, the last one gets the instruction there.
class Charged {
 public:
  Charged(Dwarf_Lines* lines, std::size_t count) : lines_(lines), count_(count) {}

  // Looks at each row once, because a damaged table may have millions at one address. REQUIRES:
  // rows are asked for in ascending order.
  bool has_code(std::size_t index, const Row& row) {
    if (index >= end_ || index < begin_) find_end(index, row);
    return line_ == row.line;
  }

 private:
  // The addresses of the rows [begin_, end_) are not above that of the first. line_ is the line of
  // the last row; 0 if no row above follows.
  void find_end(std::size_t index, const Row& row) {
    begin_ = index;
    line_ = row.line;
    for (end_ = index + 1; end_ < count_; ++end_) {
      Dwarf_Line* line = dwarf_onesrcline(lines_, end_);
      Dwarf_Addr address = 0;
      if (dwarf_lineaddr(line, &address) != 0) break;
      if (address > row.address) return;
      if (dwarf_lineno(line, &line_) != 0) break;
    }
    line_ = 0;
  }

  Dwarf_Lines* lines_;
  std::size_t count_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  int line_ = 0;
};

// Calls visit(row) for each row of the unit's line table that stands for code.
template <typename Visit>
void for_each_row(Dwarf_Die& unit, Visit visit) {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
  Charged charged(lines, count);
  Row last;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* line = dwarf_onesrcline(lines, i);
    Row row;
    bool end = false;
    if (dwarf_lineendsequence(line, &end) != 0 || end) {
      last = Row();
      continue;
    }
    if (dwarf_lineno(line, &row.line) != 0 || row.line <= 0) continue;
    if (dwarf_lineaddr(line, &row.address) != 0 || row.address == 0) continue;
    dwarf_linebeginstatement(line, &row.begins_statement);
    row.file = dwarf_linesrc(line, nullptr, nullptr);
    if (row.file == nullptr) continue;
    dwarf_linecol(line, &row.column);
    row.has_code = charged.has_code(i, row);
    row.changes_file = row.line == last.line && std::strcmp(row.file, last.file) != 0;
    last = row;
    visit(row);
  }
}

// A place where a statement of the line begins.
struct Beginning {
  Address address = 0;
  int column = 0;
  bool has_code = false;
  bool goes_on = false;  // true if code of the line ran just before
};

// Returns whether gcc's back end made the unit, for whatever language.
bool is_of_gcc(Dwarf_Die& unit) {
  const char* producer = die_string(unit, DW_AT_producer);
  return producer != nullptr && std::string_view(producer).starts_with("GNU ");
}

}  // namespace

bool DebugInfo::marks_copies(Unit& unit) {
  const char* text = die_string(unit.tree, DW_AT_producer);
  if (text == nullptr) return false;
  const std::string_view producer = text;
  const bool has_markers = producer.starts_with("GNU C") || producer.starts_with("GNU GIMPLE");
  return has_markers && producer.find("-gno-statement-frontiers") == producer.npos &&
         producer.find("-gno-column-info") == producer.npos;
}

// Returns a number that is the same for all addresses of one function, or one inlined copy. Copies
// that were inlined from the line `caller`, if there is one, do not count as scopes.
Address DebugInfo::innermost_scope(Unit& unit, Address address, const Source* caller) {
  const Function* function = function_at(unit, address);
  if (function == nullptr) return 0;
  std::vector<Dwarf_Die> chain = inline_chain(*function, address);
  const auto is_called_there = [&](Dwarf_Die& inlined) {
    const Source site = call_site(unit, inlined);
    return site.line == caller->line && site.file == caller->file;
  };
  while (caller != nullptr && !chain.empty() && is_called_there(chain.back())) chain.pop_back();
  Dwarf_Die scope = chain.empty() ? function->die : chain.back();
  return dwarf_dieoffset(&scope);
}

// Returns whether code at the address was inlined, at any depth, from this line.
bool DebugInfo::called_from(Unit& unit, Address address, const std::string& file, int line) {
  const Function* function = function_at(unit, address);
  if (function == nullptr) return false;
  std::vector<Dwarf_Die> chain = inline_chain(*function, address);
  return std::any_of(chain.begin(), chain.end(), [&](Dwarf_Die& inlined) {
    const Source site = call_site(unit, inlined);
    return site.line == line && site.file == file;
  });
}

void DebugInfo::find_line_in_unit(Unit& unit, const std::string& file, int line,
                                  std::vector<LineMatch>& matches) {
  std::map<std::pair<Address, std::string>, std::vector<Beginning>> found;  // by scope and file
  bool marks_statements = false;
  const bool by_number = !is_of_gcc(unit.tree);
  Row before;  // the preceding statement, in the order of execution if nothing jumps
  for_each_row(unit.lines, [&](const Row& row) {
    if (!row.begins_statement && !(by_number && row.changes_file)) {
      marks_statements = true;
      return;
    }
    const Row previous = std::exchange(before, row);
    if (row.line != line) return;
    const std::string& name = file_name(row.file, unit);
    if (!path_ends_with(name, file)) return;
    const bool follows =
        previous.file != nullptr && previous.line == line && file_name(previous.file, unit) == name;
    if (follows && !row.has_code) return;  // the end of the statement, perhaps in another scope
    const bool goes_on = follows || (previous.file != nullptr &&
                                     called_from(unit, previous.address + bias_, name, line));
    const Address address = row.address + bias_;
    // Where the line has no code, the instruction is the first one of what was inlined from the
    // line.
    const Source caller{name, line};
    const Address scope = innermost_scope(unit, address, row.has_code ? nullptr : &caller);
    found[{scope, name}].push_back({address, row.column, row.has_code, goes_on});
  });
  const bool copies = marks_statements && marks_copies(unit);
  for (auto& [scope, beginnings] : found) {
    const auto first = std::min_element(
        beginnings.begin(), beginnings.end(), [](const Beginning& a, const Beginning& b) {
          return std::pair(!a.has_code, a.address) < std::pair(!b.has_code, b.address);
        });
    std::set<Address> returns;
    for (const Beginning& one : beginnings) {
      const bool again = !one.goes_on && one.has_code == first->has_code;
      if (copies && again && one.column == first->column && one.address != first->address) {
        matches.push_back({one.address, scope.second});
      }
      if (!copies && again && one.address > first->address) returns.insert(one.address);
    }
    matches.push_back({first->address, scope.second, {returns.begin(), returns.end()}});
  }
}

std::vector<LineMatch> DebugInfo::find_line(const std::string& file, int line) {
  std::vector<LineMatch> matches;
  for (Unit* unit : units_with_file(file)) find_line_in_unit(*unit, file, line, matches);
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
  for (Unit* unit : units_with_file(file)) {
    for_each_row(unit->lines, [&](const Row& row) {
      const std::string& name = file_name(row.file, *unit);
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

}  // namespace causalctl::unwind

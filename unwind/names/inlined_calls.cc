// Finds the calls of a function that compilers have replaced by copies of its body
// (DW_TAG_inlined_subroutine), and a line by which all copies can be counted.
//
// A copy's own entry (DW_AT_entry_pc) is no such place: the first instruction may have been hoisted
// out of a branch or be shared with a loop, and a copy that an unrolled loop repeats has one entry
// for several calls. A line of source is found in each repetition (line_search.cc).
#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/clock.h"
#include "unwind/names/debug_info.h"
#include "unwind/names/demangle.h"
#include "unwind/names/dies.h"
#include "unwind/names/function_name.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostCopies = 1000;

bool can_hold_code(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
         tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_module ||
         tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

std::string linkage_name(Dwarf_Die& die) {
  Dwarf_Attribute value;
  const char* text = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_linkage_name, &value));
  return text != nullptr ? text : "";
}

std::string declared_in(Dwarf_Die& die) {
  const char* file = die_declared_file(die);
  return file != nullptr ? std::string(base_name(file)) : std::string();
}

// The copies of one constructor or destructor have symbols of their own (C1, C2; D0, D1, D2, D4).
bool same_function(const std::string& symbol, const std::string& other) {
  if (symbol == other) return true;
  return is_mangled(symbol) && is_mangled(other) && demangle(symbol) == demangle(other);
}

}  // namespace

// Tells which functions are meant, in every unit that has a DIE of them.
class FunctionIdentity {
 public:
  // The function of this DIE.
  explicit FunctionIdentity(Dwarf_Die& die) : linkage_(linkage_name(die)), file_(declared_in(die)) {
    const char* text = dwarf_diename(&die);
    if (text != nullptr) name_ = simple_name(text);
    dwarf_decl_line(&die, &line_);
  }
  // A function that only a symbol tells of: clang -g1 describes only functions that have copies.
  explicit FunctionIdentity(const Place& function)
      : name_(simple_name(function.function)),
        linkage_(is_mangled(function.symbol) ? function.symbol : "") {}
  // The functions that may be called so; if `declared` is not empty, the one whose source is there.
  explicit FunctionIdentity(const std::string& called, const std::string& declared = "")
      : written_(called), name_(simple_name(called)), declared_(base_name(declared)) {}

  // The functions with the same simple name, whatever encloses them.
  static FunctionIdentity namesakes(const std::string& called) {
    FunctionIdentity identity(called);
    identity.written_.reset();
    identity.all_ = true;
    return identity;
  }

  // Other functions that fit the written name as well as this one does are looked for, too.
  void look_for_namesakes(const std::string& written, const Place& function) {
    written_for_namesakes_.emplace(written);
    own_fit_ = written_for_namesakes_->fit(function.symbol, function.function);
  }
  // Returns whether a function that is not this one is as well called so. Headers of the system
  // have many short names.
  bool is_namesake(Dwarf_Die& origin) const {
    if (!written_for_namesakes_ || own_fit_ == Fit::none) return false;
    const char* text = dwarf_diename(&origin);
    if (text == nullptr || simple_name(text) != name_) return false;
    const char* file = die_declared_file(origin);
    if (file == nullptr || std::string_view(file).starts_with("/usr/")) return false;
    return written_for_namesakes_->fit(linkage_name(origin), die_function_name(origin)) <= own_fit_;
  }

  const std::string& name() const { return name_; }  // without namespaces and arguments

  bool fits(Dwarf_Die& origin) const {
    const char* text = dwarf_diename(&origin);
    if (text == nullptr || simple_name(text) != name_) return false;
    if (all_) return true;
    const std::string other = linkage_name(origin);
    if (written_ && !declared_.empty() && declaration(origin) != declared_) return false;
    if (written_) return written_->fit(other, die_function_name(origin)) != Fit::none;
    if (!linkage_.empty() && !other.empty()) return same_function(linkage_, other);
    int number = 0;
    dwarf_decl_line(&origin, &number);
    if (number == 0 || line_ == 0) return true;  // at least one has no declaration
    return number == line_ && declared_in(origin) == file_;
  }

 private:
  static std::string declaration(Dwarf_Die& origin) {
    int line = 0;
    dwarf_decl_line(&origin, &line);
    return fmt::format("{}:{}", declared_in(origin), line);
  }

  std::optional<WrittenName> written_;  // if only a name is known
  std::optional<WrittenName> written_for_namesakes_;
  Fit own_fit_ = Fit::none;
  std::string name_;
  std::string declared_;  // "f.c:12", if only a name is known
  bool all_ = false;
  std::string linkage_;
  std::string file_;
  int line_ = 0;
};

// A walk through the functions of units that collects the copies of one function.
class DebugInfo::CopySearch {
 public:
  CopySearch(const FunctionIdentity& identity, Nanoseconds until_ns)
      : identity_(identity), until_ns_(until_ns) {}

  void search(Unit& unit) {
    DieWalk walk;
    if (!is_over()) descend(unit.tree, unit, walk, 0);
  }
  const std::vector<InlinedCopy>& copies() const { return copies_; }
  const std::vector<InlinedCopy>& of_namesakes() const { return of_namesakes_; }
  bool complete() const { return !late_; }
  // Returns false if there are copies of which nothing tells the function.
  bool readable() const { return readable_; }

 private:
  bool is_over() {
    late_ = late_ || monotonic_now() > until_ns_;
    return late_ || copies_.size() >= kMostCopies;
  }

  void descend(Dwarf_Die& parent, Unit& unit, DieWalk& walk, int depth) {
    if (depth > kDeepestDie) return;
    const bool in_variant = dwarf_tag(&parent) == DW_TAG_subprogram && is_variant(parent);
    walk.for_each_child(parent, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_inlined_subroutine && !in_variant) take(child, unit);
      // The abstract copy of a function has no code.
      const bool abstract = tag == DW_TAG_subprogram && !die_has_code(child);
      if (can_hold_code(tag) && !abstract) descend(child, unit, walk, depth + 1);
      if (depth == 0 && ++seen_ % 64 == 0) return !is_over();
      return !late_ && copies_.size() < kMostCopies;
    });
  }

  // Returns whether it is the function itself in the variant of a constructor or destructor, or a
  // thunk, which contains the function once for each of its calls.
  bool is_variant(Dwarf_Die& function) {
    const std::string symbol = linkage_name(function);
    if (symbol.starts_with("_ZT")) return true;
    const char* name = dwarf_diename(&function);
    if (name == nullptr || symbol.find(name[0] == '~' ? "D0Ev" : "C1E") == symbol.npos)
      return false;
    return identity_.fits(function);
  }

  void take(Dwarf_Die& inlined, Unit& unit) {
    Dwarf_Attribute value;
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(&inlined, DW_AT_abstract_origin, &value), &origin) ==
            nullptr ||
        dwarf_tag(&origin) != DW_TAG_subprogram) {
      readable_ = false;
      return;
    }
    const auto [known, is_new] = known_.try_emplace(origin.addr, Of::another);
    if (is_new && identity_.fits(origin)) known->second = Of::function;
    if (is_new && known->second == Of::another && identity_.is_namesake(origin)) {
      known->second = Of::namesake;
    }
    if (known->second == Of::function) copies_.push_back({&unit, inlined});
    if (known->second == Of::namesake && of_namesakes_.size() < kMostCopies) {
      of_namesakes_.push_back({&unit, inlined});
    }
  }

  const FunctionIdentity& identity_;
  Nanoseconds until_ns_;
  bool late_ = false;
  bool readable_ = true;
  std::size_t seen_ = 0;
  enum class Of { function, namesake, another };
  std::unordered_map<void*, Of> known_;  // by the DIE of the function that was inlined
  std::vector<InlinedCopy> copies_;
  std::vector<InlinedCopy> of_namesakes_;
};

// Returns the first line of the function's body in the scope's own code, which is the function or
// a copy of it; the line of its declaration if the body is on that one; nothing if code of another
// scope comes before, since that may branch.
DebugInfo::Source DebugInfo::first_line(Unit& unit, Dwarf_Die& scope) {
  const auto ranges = die_ranges(scope);
  Dwarf_Lines* rows = nullptr;
  std::size_t count = 0;
  int declared = 0;
  const char* declared_file = die_declared_file(scope);
  if (ranges.empty() || declared_file == nullptr || dwarf_decl_line(&scope, &declared) != 0 ||
      dwarf_getsrclines(&unit.lines, &rows, &count) != 0) {
    return {};
  }
  const std::string own_file = file_name(declared_file, unit);
  const Address low = ranges.front().first;
  const Address own = innermost_scope(unit, low + bias_);
  Source first;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line* row = dwarf_onesrcline(rows, i);
    Dwarf_Addr address = 0;
    if (dwarf_lineaddr(row, &address) != 0 || address < low) continue;
    if (address >= ranges.front().second || innermost_scope(unit, address + bias_) != own) break;
    bool begins = false;
    int line = 0;
    const char* file = dwarf_linesrc(row, nullptr, nullptr);
    dwarf_linebeginstatement(row, &begins);
    if (!begins || file == nullptr || dwarf_lineno(row, &line) != 0 || line < declared) continue;
    if (file_name(file, unit) != own_file || line == first.line) continue;
    const bool is_caller = address == low && dwarf_tag(&scope) == DW_TAG_inlined_subroutine &&
                           call_site(unit, scope).line == line;
    if (!is_caller) first = {own_file, line};
    if (first.line > declared) break;
  }
  return first;
}

// Returns whether the line has one place for the function and one for each copy, and no others in
// their units. A copy's place may lie just outside of the copy's ranges, so places are compared for
// each function that contains copies.
bool DebugInfo::once_in_each(const Source& source, Unit* own, const Function* function,
                             const std::vector<InlinedCopy>& copies) {
  std::map<Unit*, std::map<const Function*, std::ptrdiff_t>> missing;  // places to be found
  if (own != nullptr) ++missing[own][function];
  for (const InlinedCopy& copy : copies) {
    Dwarf_Die die = copy.die;
    const auto ranges = die_ranges(die);
    if (ranges.empty()) return false;
    ++missing[copy.unit][function_at(*copy.unit, ranges.front().first + bias_)];
  }
  for (auto& [unit, by_function] : missing) {
    std::vector<LineMatch> matches;
    find_line_in_unit(*unit, source.file, source.line, matches);
    std::set<Address> found;
    for (const LineMatch& match : matches) found.insert(match.address);
    // Where copies of a statement cannot be told from its parts, there must be neither.
    if (!marks_copies(*unit) && count_beginnings(*unit, source) != found.size()) return false;
    for (const Address address : found) --by_function[function_at(*unit, address)];
    const bool all = std::all_of(by_function.begin(), by_function.end(),
                                 [](const auto& each) { return each.second == 0; });
    if (!all) return false;
  }
  return true;
}

// Returns how often the line begins anew, in the order of addresses.
std::size_t DebugInfo::count_beginnings(Unit& unit, const Source& source) {
  Dwarf_Lines* rows = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit.lines, &rows, &count) != 0) return 0;
  std::size_t beginnings = 0;
  bool before = false;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line* row = dwarf_onesrcline(rows, i);
    int line = 0;
    bool begins = false;
    if (dwarf_linebeginstatement(row, &begins) != 0 || !begins) continue;
    const char* file = dwarf_linesrc(row, nullptr, nullptr);
    const bool here = dwarf_lineno(row, &line) == 0 && line == source.line && file != nullptr &&
                      file_name(file, unit) == source.file;
    if (here && !before) ++beginnings;
    before = here;
  }
  return beginnings;
}

std::string DebugInfo::line_of_all(Unit* own, const Function* function,
                                   const std::vector<InlinedCopy>& copies) {
  Unit* unit = own;
  Dwarf_Die scope;
  if (function != nullptr) {
    scope = function->die;
  } else if (!copies.empty()) {
    unit = copies.front().unit;
    scope = copies.front().die;
  } else {
    return {};
  }
  const Source source = first_line(*unit, scope);
  if (source.line > 0 && once_in_each(source, own, function, copies)) {
    return fmt::format("{}:{}", source.file, source.line);
  }
  return {};
}

InlinedCalls DebugInfo::inlined_calls(const Place& wanted, const std::string& written,
                                      Nanoseconds until_ns) {
  InlinedCalls found;
  const Address entry = wanted.address;
  Unit* own = entry != 0 ? unit_at(entry) : nullptr;
  const Function* function = own != nullptr ? function_at(*own, entry) : nullptr;
  found.known = entry == 0 || (own != nullptr && tells_of_copies(*own, wanted));
  if (!found.known || (function != nullptr && function->entry != entry)) return found;
  Dwarf_Die die = function != nullptr ? function->die : Dwarf_Die{};
  FunctionIdentity identity = function != nullptr ? FunctionIdentity(die)
                              : own != nullptr    ? FunctionIdentity(wanted)
                                                  : FunctionIdentity(written, wanted.declared);
  if (own != nullptr) identity.look_for_namesakes(written, wanted);
  CopySearch search(identity, until_ns);
  std::vector<Unit*> units = units_that_mention(identity.name());
  // The function's own unit comes first. Compilers describe a function that they also inlined by
  // an entry that copies, and its own code, refer to.
  const auto place_of_own = std::find(units.begin(), units.end(), own);
  if (place_of_own != units.end()) {
    std::iter_swap(units.begin(), place_of_own);
  } else if (function != nullptr && dwarf_hasattr(&die, DW_AT_abstract_origin) != 0) {
    units.insert(units.begin(), own);
  }
  for (Unit* unit : units) search.search(*unit);
  found.complete = search.complete();
  found.known = search.readable();
  found.calls = call_sites(search.copies());
  found.of_namesakes = call_sites(search.of_namesakes());
  if (!search.copies().empty()) {
    if (found.calls.empty()) found.calls.emplace_back("an unknown line");
    if (found.complete) found.line = line_of_all(own, function, search.copies());
  }
  std::sort(found.calls.begin(), found.calls.end());
  return found;
}

std::vector<std::string> DebugInfo::inlined_at(const std::string& name, std::size_t count) {
  const FunctionIdentity identity = FunctionIdentity::namesakes(name);
  CopySearch search(identity, std::numeric_limits<Nanoseconds>::max());
  std::vector<std::string> places;
  for (Unit* unit : units_that_mention(identity.name())) {
    search.search(*unit);
    places = call_sites(search.copies());
    if (places.size() >= count) break;
  }
  if (places.size() > count) places.resize(count);
  return places;
}

// Returns the lines ("file:line") of the calls, each once, in the order of the copies.
std::vector<std::string> DebugInfo::call_sites(const std::vector<InlinedCopy>& copies) {
  std::vector<std::string> places;
  std::set<std::string> known;
  for (const InlinedCopy& copy : copies) {
    Dwarf_Die inlined = copy.die;
    const Source site = call_site(*copy.unit, inlined);
    std::string place = fmt::format("{}:{}", site.file, site.line);
    if (site.line > 0 && known.insert(place).second) places.push_back(std::move(place));
  }
  return places;
}

MissingDwo DebugInfo::describe_missing(Unit& unit) {
  MissingDwo missing;
  const char* source = dwarf_diename(&unit.lines);
  const char* file = die_string(unit.lines, DW_AT_dwo_name);
  if (file == nullptr) file = die_string(unit.lines, DW_AT_GNU_dwo_name);
  if (file != nullptr) missing.file = file;
  // A skeleton has no name; the first file of its line table is the unit's. Before DWARF 5 files
  // are numbered from 1.
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (source == nullptr && dwarf_getsrcfiles(&unit.lines, &files, &count) == 0) {
    for (std::size_t i = 0; i < count && (source == nullptr || *source == '?'); ++i) {
      source = dwarf_filesrc(files, i, nullptr, nullptr);
    }
  }
  if (source != nullptr) missing.source = base_name(source);
  return missing;
}

std::optional<MissingDwo> DebugInfo::missing_dwo(Address address) {
  Unit* unit = unit_at(address);
  if (unit == nullptr || !unit->is_missing) return std::nullopt;
  return describe_missing(*unit);
}

std::optional<MissingDwo> DebugInfo::any_missing_dwo() {
  for (Unit& unit : units_) {
    if (unit.is_missing) return describe_missing(unit);
  }
  return std::nullopt;
}

}  // namespace causalctl::unwind

// Finds functions in the symbol table of a module, and of indirect ones the versions.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "unwind/names/demangle.h"
#include "unwind/names/function_name.h"
#include "unwind/names/module_index.h"
#include "unwind/names/names.h"
#include "unwind/names/nearest_functions.h"

namespace causalctl::unwind {
namespace {

using Kind = FunctionSymbol::Kind;

// What C's start-up code and libc_nonshared.a add to a binary, apart from reserved names.
const std::set<std::string_view> kStartUp = {"at_quick_exit",      "atexit", "deregister_tm_clones",
                                             "frame_dummy",        "fstat",  "lstat",
                                             "register_tm_clones", "stat"};

std::optional<Kind> kind_of(unsigned char type) {
  if (type == STT_FUNC) return Kind::function;
  if (type == STT_GNU_IFUNC) return Kind::indirect;
  if (type == STT_NOTYPE) return Kind::untyped;
  return std::nullopt;
}

// The part of a function that is rarely executed is not an entry, nor is what only leads to one (a
// thunk of a virtual function, the initialisation of a thread's variable: _ZT).
bool is_entry(const CloneName& symbol) {
  return symbol.suffix.find(".cold") == symbol.suffix.npos && !symbol.base.starts_with("_ZT");
}

// Whether `name` is the symbol of a copy with its suffix. Copies of copies have several suffixes,
// of which the last ones may be left out.
bool names_copy(const std::string& name, const CloneName& clone) {
  if (clone.suffix.empty() || name.size() <= clone.base.size()) return false;
  const std::string symbol = std::string(clone.base) + std::string(clone.suffix);
  return symbol.starts_with(name) && (symbol.size() == name.size() || symbol[name.size()] == '.');
}

// Returns the name in the source, where the compiler has appended a number: to nested functions of
// GNU C and Fortran ("f.0"), and with link-time optimisation to static ones of one name ("f.3").
// Languages with dots in names have them before the last part: "main.init.0" of Go.
CloneName source_symbol(std::string_view symbol) {
  const CloneName clone = plain_symbol(symbol);
  const auto dot = clone.base.find('.', 1);
  if (dot == clone.base.npos || dot + 1 == clone.base.size()) return clone;
  const auto other = clone.base.find_first_not_of("0123456789", dot + 1);
  if (other != clone.base.npos) return clone;
  const std::string_view whole(clone.base.data(), clone.base.size() + clone.suffix.size());
  return {whole.substr(0, dot), whole.substr(dot)};
}

// Returns "_Z1fv" for "_ZThn8_1fv" and "_ZTv0_n24_1fv", thunks of f; empty for other symbols.
// Source: Itanium C++ ABI, 5.1.4.3 "Virtual Tables and Thunks".
std::string function_of_thunk(std::string_view symbol) {
  const bool covariant = symbol.starts_with("_ZTc");
  if (!symbol.starts_with("_ZTh") && !symbol.starts_with("_ZTv") && !covariant) return {};
  std::size_t at = covariant ? 4 : 3;
  for (int offsets = covariant ? 2 : 1; offsets > 0; --offsets) {
    for (int numbers = at < symbol.size() && symbol[at] == 'v' ? 2 : 1; numbers > 0; --numbers) {
      at = symbol.find('_', at);
      if (at == symbol.npos) return {};
      ++at;
    }
  }
  return "_Z" + std::string(symbol.substr(at));
}

// The symbols that fit a name best so far.
struct Best {
  void take(Fit fit, FunctionSymbol symbol) {
    if (fit == Fit::none || fit > best) return;
    if (fit < best) found.clear();
    best = fit;
    found.push_back(std::move(symbol));
  }

  Fit best = Fit::none;
  std::vector<FunctionSymbol> found;
};

// Sorts by address and keeps one of several symbols of an address.
// Of several symbols at one address one that other files can use stays: gcc makes a private alias
// of a function (item.localalias) for the calls in its own file.
std::vector<FunctionSymbol> each_once(std::vector<FunctionSymbol> symbols) {
  std::stable_sort(symbols.begin(), symbols.end(), [](const auto& a, const auto& b) {
    return std::tie(a.address, a.local) < std::tie(b.address, b.local);
  });
  const auto same = [](const auto& a, const auto& b) { return a.address == b.address; };
  symbols.erase(std::unique(symbols.begin(), symbols.end(), same), symbols.end());
  return symbols;
}

}  // namespace

CloneName plain_symbol(std::string_view symbol) {
  symbol = symbol.substr(0, symbol.find('@', 1));  // "memcpy" of "memcpy@@GLIBC_2.14"
  return symbol.find('.', 1) == symbol.npos ? CloneName{symbol, {}} : split_clone(symbol);
}

const std::vector<ModuleIndex::Symbol>& ModuleIndex::symbols() {
  if (symbols_) return *symbols_;
  symbols_.emplace();
  const int count = dwfl_module_getsymtab(module_.dwfl);
  for (int i = 1; i < count; ++i) {
    GElf_Sym entry;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* name =
        dwfl_module_getsym_info(module_.dwfl, i, &entry, &address, &section, nullptr, nullptr);
    if (name == nullptr || *name == 0 || section == SHN_UNDEF || !in_code(address)) continue;
    if (const auto kind = kind_of(GELF_ST_TYPE(entry.st_info))) {
      const bool local = GELF_ST_BIND(entry.st_info) == STB_LOCAL;
      symbols_->push_back({address, name, *kind, local});
    }
  }
  add_go_symbols();
  return *symbols_;
}

// Adds the functions of a Go program that the symbol table does not have.
void ModuleIndex::add_go_symbols() {
  if (!go_table().valid()) return;
  std::set<Address> known;
  for (const Symbol& each : *symbols_) known.insert(each.address);
  go_functions_ = go_table().functions();
  for (const GoFunction& each : go_functions_) {
    const Address address = each.low + bias_;
    if (each.name.empty() || known.contains(address) || !in_code(address)) continue;
    symbols_->push_back({address, each.name.c_str(), Kind::function});
  }
}

FunctionSymbol ModuleIndex::described(const Symbol& symbol) {
  const CloneName clone = source_symbol(symbol.name);
  const std::string base(clone.base);
  return {symbol.address, base,        demangle(base), std::string(clone.suffix),
          symbol.kind,    symbol.local};
}

template <typename Fits>
std::vector<FunctionSymbol> ModuleIndex::select(Fits fits) {
  std::vector<FunctionSymbol> found;
  for (const Symbol& each : symbols()) {
    if (fits(each, plain_symbol(each.name))) found.push_back(described(each));
  }
  return each_once(std::move(found));
}

std::vector<FunctionSymbol> ModuleIndex::find_function(const std::string& name) {
  if (const auto at = name.find('@', 1); at != std::string::npos) return find_version(name, at);
  const WrittenName written(name);
  std::vector<FunctionSymbol> copies;
  std::vector<FunctionSymbol> labels;
  Best entries;
  for (const Symbol& each : symbols()) {
    // Only few symbols are demangled: those of a large program take seconds.
    const bool starts = std::string_view(each.name).starts_with(name);
    if (!starts && !written.may_fit(each.name)) continue;
    const CloneName clone = source_symbol(each.name);
    if (each.kind == Kind::untyped) {
      if (clone.suffix.empty() && clone.base == name) labels.push_back(described(each));
      continue;
    }
    const bool entry = is_entry(clone);
    if (entry && names_copy(name, clone)) copies.push_back(described(each));
    FunctionSymbol symbol = described(each);
    const Fit fit = written.fit(symbol.symbol, symbol.display);
    if (symbol.is_part() || (!entry && (fit != Fit::exact || !clone.suffix.empty()))) continue;
    entries.take(fit, std::move(symbol));
  }
  for (auto* found : {&copies, &entries.found, &labels}) {
    if (found->empty()) continue;
    add_thunks(*found);
    return each_once(std::move(*found));
  }
  return find_by_debug_name(name);
}

void ModuleIndex::add_thunks(std::vector<FunctionSymbol>& functions) {
  std::map<std::string, std::string> names;
  for (const FunctionSymbol& each : functions) {
    if (each.symbol.starts_with("_Z")) names.emplace(each.symbol, each.display);
  }
  if (names.empty()) return;
  for (const Symbol& each : symbols()) {
    if (!std::string_view(each.name).starts_with("_ZT")) continue;
    FunctionSymbol thunk = described(each);
    const auto function = names.find(function_of_thunk(thunk.symbol));
    if (function == names.end() || thunk.suffix.find(".cold") != std::string::npos) continue;
    thunk.display = function->second;
    functions.push_back(std::move(thunk));
  }
}

// A Fortran procedure outside of modules is "proc_".
std::vector<FunctionSymbol> ModuleIndex::find_by_debug_name(const std::string& name) {
  constexpr std::size_t kMostTried = 64;
  std::vector<FunctionSymbol> found;
  std::string lower = name;
  for (char& each : lower) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  std::size_t tried = 0;
  for (const Symbol& each : symbols()) {
    const std::string_view symbol = each.name;
    if (each.kind != Kind::function || symbol.size() <= name.size() ||
        (symbol[name.size()] != '_' && symbol[name.size()] != '.')) {
      continue;
    }
    if (!symbol.starts_with(name) && !symbol.starts_with(lower)) continue;
    if (!plain_symbol(symbol).suffix.empty()) continue;  // f.part.0 is no entry of f
    if (++tried > kMostTried) break;
    const std::string known = frames(each.address).back().function;
    if (known != name && known != lower) continue;
    found.push_back({each.address, each.name, known, {}, each.kind});
  }
  return each_once(std::move(found));
}

std::vector<FunctionSymbol> ModuleIndex::find_version(const std::string& name, std::size_t at) {
  const std::string base = name.substr(0, at);
  const std::string version = name.substr(name.find_first_not_of('@', at));
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  const auto versions = versions_of(elf, base);
  return select([&](const Symbol& each, const CloneName& clone) {
    if (each.name == name) return true;  // an assembler's name may have any character
    return clone.base == base && clone.suffix.empty() &&
           std::any_of(versions.begin(), versions.end(), [&](const SymbolVersion& known) {
             return known.version == version && known.address == each.address - bias;
           });
  });
}

std::string ModuleIndex::version_of(const FunctionSymbol& function) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  for (const SymbolVersion& known : versions_of(elf, function.symbol)) {
    if (known.address == function.address - bias) return known.suffix();
  }
  return {};
}

std::vector<FunctionSymbol> ModuleIndex::target_clones(const FunctionSymbol& indirect) {
  return select([&](const Symbol& each, const CloneName& clone) {
    return each.kind == Kind::function && clone.base.starts_with(indirect.symbol + ".") &&
           !clone.base.ends_with(".resolver");
  });
}

std::vector<BoundSlot> ModuleIndex::slots(const std::string& symbol) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  return bound_slots(elf, bias, module_.target, symbol);
}

std::vector<std::string> ModuleIndex::names_at(Address address) {
  std::vector<std::string> names;
  for (const Symbol& each : symbols()) {
    if (each.address != address || each.kind != Kind::function) continue;
    if (!function_of_thunk(each.name).empty()) continue;  // is no other function
    FunctionSymbol symbol = described(each);
    if (symbol.suffix.find(".cold") == std::string::npos)
      names.push_back(std::move(symbol.display));
  }
  return names;
}

std::vector<std::string> ModuleIndex::symbols_at(Address address) {
  std::vector<std::string> names;
  for (const Symbol& each : symbols()) {
    if (each.address == address) names.emplace_back(plain_symbol(each.name).base);
  }
  return names;
}

std::vector<std::string> ModuleIndex::undescribed_functions() {
  std::vector<std::string> names;
  for (const Symbol& each : symbols()) {
    const std::string_view name = each.name;
    const bool reserved = name.starts_with('_') && !is_mangled(name);
    if (each.kind != Kind::function || reserved || kStartUp.contains(name)) continue;
    if (!debug_info().describes(each.address)) names.push_back(described(each).display);
  }
  return names;
}

std::vector<FunctionSymbol> ModuleIndex::indirect_functions() {
  std::vector<FunctionSymbol> found;  // with all names of one address
  for (const Symbol& each : symbols()) {
    if (each.kind == Kind::indirect) found.push_back(described(each));
  }
  return found;
}

std::vector<std::string> ModuleIndex::similar_functions(const std::string& name,
                                                        std::size_t count) {
  NearestFunctions nearest(name);
  for (const Symbol& each : symbols()) {
    if (each.kind == Kind::untyped) continue;
    nearest.consider(plain_symbol(each.name).base);
  }
  return nearest.names(count);
}

}  // namespace causalctl::unwind

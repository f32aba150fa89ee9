#include "unwind/module_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "unwind/demangle.h"
#include "unwind/function_name.h"
#include "unwind/names.h"
#include "unwind/nearest_functions.h"

namespace causalctl::unwind {
namespace {

// Returns "memcpy" for "memcpy@@GLIBC_2.14".
std::string_view without_version(std::string_view symbol) {
  const auto at = symbol.find('@', 1);
  return symbol.substr(0, at);
}

// A symbol without its version and the suffix of a copy.
CloneName plain_symbol(std::string_view symbol) {
  symbol = without_version(symbol);
  return symbol.find('.', 1) == symbol.npos ? CloneName{symbol, {}} : split_clone(symbol);
}

// The part of a function that is rarely executed is not an entry, nor is what only leads to one (a
// thunk of a virtual function, the initialisation of a thread's variable: _ZT).
bool is_entry(const CloneName& symbol) {
  return symbol.suffix.find(".cold") == symbol.suffix.npos && !symbol.base.starts_with("_ZT");
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
std::vector<FunctionSymbol> each_once(std::vector<FunctionSymbol> symbols) {
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](const auto& a, const auto& b) { return a.address < b.address; });
  const auto same = [](const auto& a, const auto& b) { return a.address == b.address; };
  symbols.erase(std::unique(symbols.begin(), symbols.end(), same), symbols.end());
  return symbols;
}

}  // namespace

DebugInfo& ModuleIndex::debug_info() {
  if (!debug_info_) {
    Dwarf_Addr bias = 0;
    Dwarf* dwarf = dwfl_module_getdwarf(module_.dwfl, &bias);
    debug_info_.emplace(dwarf, bias);
  }
  return *debug_info_;
}

std::string ModuleIndex::build_id() {
  GElf_Addr bias = 0;
  if (dwfl_module_getelf(module_.dwfl, &bias) == nullptr) return {};
  const unsigned char* bits = nullptr;
  GElf_Addr where = 0;
  const int size = dwfl_module_build_id(module_.dwfl, &bits, &where);
  std::string text;
  for (int i = 0; i < size; ++i) text += fmt::format("{:02x}", bits[i]);
  return text;
}

bool ModuleIndex::in_code(Address address) const {
  return std::any_of(file().code.begin(), file().code.end(), [&](const MappedRange& each) {
    return each.start <= address && address < each.end;
  });
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
    // The address of an indirect function is that of its resolver, which runs once.
    if (name == nullptr || *name == 0 || GELF_ST_TYPE(entry.st_info) != STT_FUNC) continue;
    if (section == SHN_UNDEF || !in_code(address)) continue;
    symbols_->push_back({address, name});
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
    symbols_->push_back({address, each.name.c_str()});
  }
}

std::vector<FunctionSymbol> ModuleIndex::find_function(const std::string& name) {
  const WrittenName written(name);
  Best whole;
  Best clones;
  for (const Symbol& each : symbols()) {
    // Only few symbols are demangled: those of a large program take seconds.
    if (!written.may_fit(each.name)) continue;
    const CloneName clone = plain_symbol(each.name);
    FunctionSymbol symbol{each.address, std::string(clone.base), {}};
    symbol.display = demangle(symbol.symbol);
    const Fit fit = written.fit(symbol.symbol, symbol.display);
    if (!is_entry(clone) && (fit != Fit::exact || !clone.suffix.empty())) continue;
    (clone.suffix.empty() ? whole : clones).take(fit, std::move(symbol));
  }
  if (!whole.found.empty()) return each_once(std::move(whole.found));
  if (!clones.found.empty()) return each_once(std::move(clones.found));
  return find_by_debug_name(name);
}

// A Fortran procedure outside of modules is "proc_", and functions within functions are "f.0".
std::vector<FunctionSymbol> ModuleIndex::find_by_debug_name(const std::string& name) {
  constexpr std::size_t kMostTried = 64;
  std::vector<FunctionSymbol> found;
  std::string lower = name;
  for (char& each : lower) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  std::size_t tried = 0;
  for (const Symbol& each : symbols()) {
    const std::string_view symbol = each.name;
    if (symbol.size() <= name.size() ||
        (symbol[name.size()] != '_' && symbol[name.size()] != '.')) {
      continue;
    }
    if (!symbol.starts_with(name) && !symbol.starts_with(lower)) continue;
    if (++tried > kMostTried) break;
    const std::string known = frames(each.address).back().function;
    if (known == name || known == lower) found.push_back({each.address, each.name, known});
  }
  return each_once(std::move(found));
}

std::vector<LineMatch> ModuleIndex::find_line(const std::string& file, int line) {
  auto found = debug_info().find_line(file, line);
  if (found.empty() && !debug_info().has_lines()) {
    for (GoTable::Match& each : go_table().find_line(file, line)) {
      found.push_back({each.address + bias_, std::move(each.file)});
    }
  }
  std::erase_if(found, [&](const LineMatch& each) { return !in_code(each.address); });
  return found;
}

std::vector<std::string> ModuleIndex::files() {
  return debug_info().has_lines() ? debug_info().files() : go_table().files();
}

std::vector<std::string> ModuleIndex::similar_functions(const std::string& name,
                                                        std::size_t count) {
  NearestFunctions nearest(name);
  for (const Symbol& each : symbols()) nearest.consider(plain_symbol(each.name).base);
  return nearest.names(count);
}

std::optional<ModuleIndex::Named> ModuleIndex::symbol_at(Address address) {
  GElf_Off offset = 0;
  GElf_Sym entry;
  const char* name =
      dwfl_module_addrinfo(module_.dwfl, address, &offset, &entry, nullptr, nullptr, nullptr);
  if (name == nullptr || *name == 0) return std::nullopt;
  const Address start = address - offset;
  if (entry.st_size == 0) {
    // The nearest symbol before need not reach this far; the unwind table knows better.
    const auto bounds = bounds_at(address);
    if (bounds && start < bounds->entry) return std::nullopt;
  }
  return Named{demangle(std::string(plain_symbol(name).base)), start};
}

std::optional<std::pair<Address, Address>> ModuleIndex::function_range(Address address) {
  GElf_Off offset = 0;
  GElf_Sym entry;
  const char* name =
      dwfl_module_addrinfo(module_.dwfl, address, &offset, &entry, nullptr, nullptr, nullptr);
  if (name != nullptr && offset < entry.st_size) {
    return std::pair(address - offset, address - offset + entry.st_size);
  }
  if (const auto function = go_table().function_at(address - bias_)) {
    return std::pair(function->low + bias_, function->high + bias_);
  }
  load_bounds();
  const auto* range = bounds_->find(address - bias_);
  if (range == nullptr) return std::nullopt;
  return std::pair(range->low + bias_, range->high + bias_);
}

// Sets bias_ as well. The bytes stay where they are as long as the module does.
ElfImage ModuleIndex::elf_image() {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  std::size_t size = 0;
  const char* bytes = elf == nullptr ? nullptr : elf_rawfile(elf, &size);
  if (bytes == nullptr) return {};
  bias_ = bias;
  return ElfImage(std::as_bytes(std::span(bytes, size)));
}

void ModuleIndex::load_bounds() {
  if (!bounds_) bounds_ = function_bounds(elf_image());
}

const GoTable& ModuleIndex::go_table() {
  if (!go_table_) go_table_.emplace(elf_image());
  return *go_table_;
}

bool ModuleIndex::name_by_go_table(Address address, Frame& frame) {
  const auto function = go_table().function_at(address - bias_);
  if (!function) return false;
  frame.function = function->name;
  frame.entry = function->low + bias_;
  if (const auto line = go_table().line_at(address - bias_)) {
    frame.file = line->file;
    frame.line = line->line;
  }
  return true;
}

std::optional<ModuleIndex::Named> ModuleIndex::bounds_at(Address address) {
  load_bounds();
  const auto* range = bounds_->find(address - bias_);
  if (range == nullptr) return std::nullopt;
  return Named{fmt::format("{}+{:#x}", base_name(file().path), range->low), range->low + bias_};
}

// Decides by the section's name: System V ABI for x86-64, 5.2 "Procedure Linkage Table".
bool ModuleIndex::in_linkage_table(Address address) {
  GElf_Addr bias = 0;
  Elf_Scn* section = dwfl_module_address_section(module_.dwfl, &address, &bias);
  GElf_Shdr header;
  if (section == nullptr || gelf_getshdr(section, &header) == nullptr) return false;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  std::size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return false;
  const char* name = elf_strptr(elf, names, header.sh_name);
  return name != nullptr && std::string_view(name).starts_with(".plt");
}

std::vector<Frame> ModuleIndex::frames(Address address) {
  std::vector<Frame> frames = debug_info().frames(address);
  if (frames.empty()) frames.emplace_back();
  Frame& outer = frames.back();
  if (!outer.function.empty() || name_by_go_table(address, outer)) return frames;
  if (in_linkage_table(address)) return frames;
  auto named = symbol_at(address);
  if (!named) named = bounds_at(address);
  if (named) {
    outer.function = named->name;
    outer.entry = named->entry;
  }
  return frames;
}

std::optional<Address> ModuleIndex::runtime_address(std::uint64_t link_time) {
  GElf_Addr bias = 0;
  if (dwfl_module_getelf(module_.dwfl, &bias) == nullptr) return std::nullopt;
  const Address address = link_time + bias;
  return in_code(address) ? std::optional(address) : std::nullopt;
}

}  // namespace causalctl::unwind

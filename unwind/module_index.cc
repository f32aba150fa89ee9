#include "unwind/module_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "unwind/names.h"

namespace causalctl::unwind {
namespace {

// Returns "memcpy" for "memcpy@@GLIBC_2.14".
std::string without_version(std::string_view symbol) {
  const auto at = symbol.find('@', 1);
  return std::string(symbol.substr(0, at));
}

std::optional<FunctionSymbol::Kind> kind_of(unsigned char type) {
  if (type == STT_FUNC) return FunctionSymbol::Kind::function;
  if (type == STT_GNU_IFUNC) return FunctionSymbol::Kind::indirect;
  if (type == STT_NOTYPE) return FunctionSymbol::Kind::untyped;
  return std::nullopt;
}

// Returns the addresses in `symbols` that satisfy `fits`, each once although it may have aliases.
template <typename Fits>
std::vector<FunctionSymbol> select(const std::vector<FunctionSymbol>& symbols, Fits fits) {
  std::vector<FunctionSymbol> found;
  std::set<Address> seen;
  for (const FunctionSymbol& each : symbols) {
    if (fits(each) && seen.insert(each.address).second) found.push_back(each);
  }
  return found;
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

const std::vector<FunctionSymbol>& ModuleIndex::symbols() {
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
    const auto kind = kind_of(GELF_ST_TYPE(entry.st_info));
    if (!kind) continue;
    const std::string whole = without_version(name);
    const CloneName clone = split_clone(whole);
    // This part is not an entry.
    if (clone.suffix.find(".cold") != std::string_view::npos) continue;
    FunctionSymbol symbol;
    symbol.address = address;
    symbol.symbol = std::string(clone.base);
    symbol.display = demangle(symbol.symbol);
    symbol.no_arguments = without_arguments(symbol.display);
    symbol.suffix = std::string(clone.suffix);
    symbol.kind = *kind;
    symbols_->push_back(std::move(symbol));
  }
  std::stable_sort(
      symbols_->begin(), symbols_->end(),
      [](const FunctionSymbol& a, const FunctionSymbol& b) { return a.address < b.address; });
  return *symbols_;
}

std::vector<FunctionSymbol> ModuleIndex::find_function(const std::string& name) {
  if (const auto at = name.find('@', 1); at != std::string::npos) return find_version(name, at);
  const auto& all = symbols();
  const auto whole = [&](const FunctionSymbol& each) {
    return each.symbol == name || each.display == name || each.no_arguments == name;
  };
  const auto plain = [&](const FunctionSymbol& each) {
    return each.no_arguments.size() > name.size() && plain_name(each.no_arguments) == name;
  };
  const auto entries = [](auto fits) {
    return [fits](const FunctionSymbol& each) {
      return !each.is_part() && each.kind != FunctionSymbol::Kind::untyped && fits(each);
    };
  };
  // Copies of copies have several suffixes, of which the last ones may be left out.
  auto found = select(all, [&](const FunctionSymbol& each) {
    if (each.suffix.empty()) return false;
    const std::string symbol = each.symbol + each.suffix;
    return name.size() > each.symbol.size() && symbol.starts_with(name) &&
           (symbol.size() == name.size() || symbol[name.size()] == '.');
  });
  if (found.empty()) found = select(all, entries(whole));
  if (found.empty()) found = select(all, entries(plain));
  if (found.empty()) {
    found = select(all, [&](const FunctionSymbol& each) {
      return each.kind == FunctionSymbol::Kind::untyped && each.symbol == name;
    });
  }
  return found;
}

std::vector<FunctionSymbol> ModuleIndex::find_version(const std::string& name, std::size_t at) {
  const std::string base = name.substr(0, at);
  const std::string version = name.substr(name.find_first_not_of('@', at));
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  const auto versions = versions_of(elf, base);
  return select(symbols(), [&](const FunctionSymbol& each) {
    return each.symbol == base && each.suffix.empty() &&
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
  return select(symbols(), [&](const FunctionSymbol& each) {
    return each.kind == FunctionSymbol::Kind::function &&
           each.symbol.starts_with(indirect.symbol + ".") && !each.symbol.ends_with(".resolver");
  });
}

std::vector<BoundSlot> ModuleIndex::slots(const std::string& symbol) {
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  return bound_slots(elf, bias, module_.target, symbol);
}

std::vector<std::string> ModuleIndex::names_at(Address address) {
  std::vector<std::string> names;
  for (const FunctionSymbol& each : symbols()) {
    if (each.address == address && each.kind == FunctionSymbol::Kind::function) {
      names.push_back(each.display);
    }
  }
  return names;
}

std::vector<FunctionSymbol> ModuleIndex::indirect_functions() {
  std::vector<FunctionSymbol> found;
  for (const FunctionSymbol& each : symbols()) {
    if (each.kind == FunctionSymbol::Kind::indirect) found.push_back(each);
  }
  return found;
}

Address ModuleIndex::link_time(Address address) {
  GElf_Addr bias = 0;
  dwfl_module_getelf(module_.dwfl, &bias);
  return address - bias;
}

std::vector<LineMatch> ModuleIndex::find_line(const std::string& file, int line) {
  auto found = debug_info().find_line(file, line);
  std::erase_if(found, [&](const LineMatch& each) { return !in_code(each.address); });
  return found;
}

std::vector<std::string> ModuleIndex::function_names() {
  std::vector<std::string> names;
  for (const FunctionSymbol& each : symbols()) {
    if (each.kind == FunctionSymbol::Kind::untyped) continue;
    names.push_back(each.is_part() ? each.symbol + each.suffix : each.no_arguments);
  }
  return names;
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
  return Named{demangle(std::string(split_clone(without_version(name)).base)), start};
}

std::optional<std::pair<Address, Address>> ModuleIndex::function_range(Address address) {
  GElf_Off offset = 0;
  GElf_Sym entry;
  const char* name =
      dwfl_module_addrinfo(module_.dwfl, address, &offset, &entry, nullptr, nullptr, nullptr);
  if (name != nullptr && offset < entry.st_size) {
    return std::pair(address - offset, address - offset + entry.st_size);
  }
  load_bounds();
  const auto* range = bounds_->find(address - bias_);
  if (range == nullptr) return std::nullopt;
  return std::pair(range->low + bias_, range->high + bias_);
}

void ModuleIndex::load_bounds() {
  if (bounds_) return;
  bounds_.emplace();
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_.dwfl, &bias);
  if (elf == nullptr) return;
  std::size_t size = 0;
  const char* bytes = elf_rawfile(elf, &size);
  if (bytes == nullptr) return;
  bias_ = bias;
  bounds_ = function_bounds(ElfImage(std::as_bytes(std::span(bytes, size))));
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
  if (!outer.function.empty() || in_linkage_table(address)) return frames;
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

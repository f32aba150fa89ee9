#include "unwind/names/module_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/base/base_name.h"
#include "unwind/names/demangle.h"
#include "unwind/names/names.h"

namespace causalctl::unwind {

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

std::optional<ModuleIndex::Named> ModuleIndex::symbol_at(Address address) {
  const auto symbol = symbol_index().find(address);
  if (!symbol) return std::nullopt;
  if (symbol->size == 0) {
    // The nearest symbol before need not reach this far; the unwind table knows better.
    const auto bounds = bounds_at(address);
    if (bounds && symbol->start < bounds->entry) return std::nullopt;
  }
  return Named{demangle(std::string(plain_symbol(symbol->name).base)), symbol->start};
}

SymbolIndex& ModuleIndex::symbol_index() {
  if (!symbol_index_) symbol_index_.emplace(module_.dwfl);
  return *symbol_index_;
}

std::optional<std::pair<Address, Address>> ModuleIndex::function_range(Address address) {
  const auto symbol = symbol_index().find(address);
  if (symbol && address - symbol->start < symbol->size) {
    return std::pair(symbol->start, symbol->start + symbol->size);
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

Address ModuleIndex::link_time(Address address) {
  GElf_Addr bias = 0;
  dwfl_module_getelf(module_.dwfl, &bias);
  return address - bias;
}

std::optional<Address> ModuleIndex::runtime_address(std::uint64_t link_time) {
  GElf_Addr bias = 0;
  if (dwfl_module_getelf(module_.dwfl, &bias) == nullptr) return std::nullopt;
  const Address address = link_time + bias;
  return in_code(address) ? std::optional(address) : std::nullopt;
}

}  // namespace causalctl::unwind

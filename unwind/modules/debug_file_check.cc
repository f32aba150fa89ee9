#include "unwind/modules/debug_file_check.h"

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "unwind/tables/elf_image.h"
#include "unwind/tables/function_bounds.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostSymbols = 50'000;  // compared; a file with more has shown enough

struct CheckedSection {
  GElf_Addr address = 0;
  GElf_Xword size = 0;
};

// Returns the allocated sections, without those whose name is not unique.
std::map<std::string, CheckedSection> allocated_sections(Elf* elf) {
  std::map<std::string, CheckedSection> sections;
  std::map<std::string, int> counts;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return sections;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_ALLOC) == 0) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr) continue;
    ++counts[name];
    sections[name] = {header.sh_addr, header.sh_size};
  }
  std::erase_if(sections, [&](const auto& each) { return counts[each.first] > 1; });
  return sections;
}

struct Function {
  std::string name;
  GElf_Addr address = 0;
  GElf_Xword size = 0;
  bool global = false;
};

// Returns those of .symtab, or of .dynsym if there is none.
std::vector<Function> functions_of(Elf* elf) {
  std::vector<Function> functions;
  for (const GElf_Word type : {SHT_SYMTAB, SHT_DYNSYM}) {
    Elf_Scn* section = nullptr;
    while (functions.empty() && (section = elf_nextscn(elf, section)) != nullptr) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != type) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      if (data == nullptr || header.sh_entsize == 0) continue;
      const std::size_t count =
          std::min<std::size_t>(header.sh_size / header.sh_entsize, kMostSymbols);
      for (std::size_t i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
        const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name == nullptr || *name == 0) continue;
        functions.push_back(
            {name, symbol.st_value, symbol.st_size, GELF_ST_BIND(symbol.st_info) == STB_GLOBAL});
      }
    }
  }
  return functions;
}

std::optional<std::string> other_symbol(const std::vector<Function>& binary,
                                        const std::vector<Function>& debug) {
  std::map<std::string, GElf_Addr> known;
  for (const Function& each : debug) {
    if (each.global && each.name.find('@') == std::string::npos) known[each.name] = each.address;
  }
  for (const Function& each : binary) {
    const auto there = known.find(each.name);
    if (!each.global || there == known.end() || there->second == each.address) continue;
    return fmt::format("it has {} at {:#x}, and the binary at {:#x}", each.name, there->second,
                       each.address);
  }
  return std::nullopt;
}

// A few functions may begin within another, as in assembly.
std::optional<std::string> other_bounds(Elf* binary, const std::vector<Function>& debug) {
  std::size_t size = 0;
  const char* bytes = elf_rawfile(binary, &size);
  if (bytes == nullptr) return std::nullopt;
  const auto bounds = described_functions(ElfImage(std::as_bytes(std::span(bytes, size))));
  std::size_t compared = 0;
  std::size_t within = 0;
  const Function* example = nullptr;
  for (const Function& each : debug) {
    const auto* range = each.size > 0 ? bounds.find(each.address) : nullptr;
    if (range == nullptr) continue;
    ++compared;
    if (range->low == each.address) continue;
    ++within;
    example = &each;
  }
  if (example == nullptr || within * 20 < compared) return std::nullopt;
  return fmt::format("{} does not begin at {:#x} by the binary's unwind table", example->name,
                     example->address);
}

}  // namespace

std::optional<std::string> contradiction(Elf* binary, Elf* debug) {
  const auto there = allocated_sections(debug);
  const auto here = allocated_sections(binary);
  if (here.contains(".gnu.liblist")) return std::nullopt;  // prelinked: its addresses were changed
  for (const auto& [name, section] : here) {
    const auto other = there.find(name);
    if (other == there.end()) continue;
    if (other->second.address != section.address || other->second.size != section.size) {
      return fmt::format("its {} has {} bytes at {:#x}, and the binary's {} at {:#x}", name,
                         other->second.size, other->second.address, section.size, section.address);
    }
  }
  GElf_Ehdr header;
  GElf_Ehdr debug_header;
  if (gelf_getehdr(binary, &header) == nullptr || gelf_getehdr(debug, &debug_header) == nullptr) {
    return std::nullopt;
  }
  if (debug_header.e_entry != 0 && debug_header.e_entry != header.e_entry) {
    return fmt::format("its entry is {:#x}, and the binary's {:#x}", debug_header.e_entry,
                       header.e_entry);
  }
  const auto functions = functions_of(debug);
  if (auto text = other_symbol(functions_of(binary), functions)) return text;
  return other_bounds(binary, functions);
}

}  // namespace causalctl::unwind
